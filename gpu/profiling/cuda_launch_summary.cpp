// Walks a captured graph. Kernels are asked through the driver's functions, since the runtime's know only the
// kernels that were compiled into the program, not those that libraries load. The driver is reached through
// the runtime, so that the program starts where there is none.

#include <algorithm>
#include <vector>

#include <cuda.h>

#include "gpu/core/cuda.h"
#include "gpu/profiling/launch_summary.h"

namespace warpscope::profiling {
namespace {

using core::check_cuda;

/// A function of the driver, or nullptr. `version` is that of the CUDA it came with in this form.
template <class Function>
Function* driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<Function*>(found);
}

struct Driver {
  CUresult (*node_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*) =
      driver_function<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*)>("cuGraphKernelNodeGetParams", 12000);
  CUresult (*function_of)(CUfunction*,
                          CUkernel) = driver_function<CUresult(CUfunction*, CUkernel)>("cuKernelGetFunction",
                                                                                       12000);
  CUresult (*attribute)(int*, CUfunction_attribute, CUfunction) =
      driver_function<CUresult(int*, CUfunction_attribute, CUfunction)>("cuFuncGetAttribute", 12000);
  CUresult (*resident_blocks)(int*, CUfunction, int, std::size_t) =
      driver_function<CUresult(int*, CUfunction, int, std::size_t)>(
          "cuOccupancyMaxActiveBlocksPerMultiprocessor", 12000);
  bool complete() const {
    return node_params != nullptr && function_of != nullptr && attribute != nullptr &&
           resident_blocks != nullptr;
  }
};

/// All nodes, those of graphs inside the graph too.
void collect(cudaGraph_t graph, std::vector<cudaGraphNode_t>& nodes) {
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> own(count);
  if (count > 0) check_cuda(cudaGraphGetNodes(graph, own.data(), &count), "cudaGraphGetNodes");
  for (cudaGraphNode_t node : own) {
    cudaGraphNodeType type{};
    check_cuda(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type != cudaGraphNodeTypeGraph) {
      nodes.push_back(node);
      continue;
    }
    cudaGraph_t inner = nullptr;
    check_cuda(cudaGraphChildGraphNodeGetGraph(node, &inner), "cudaGraphChildGraphNodeGetGraph");
    collect(inner, nodes);
  }
}

/// Zeros if the driver does not tell.
KernelResources resources_of(const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& kernel, int device) {
  CUfunction function = kernel.func;
  if (function == nullptr &&
      (kernel.kern == nullptr || driver.function_of(&function, kernel.kern) != CUDA_SUCCESS)) {
    return {};
  }
  int registers = 0;
  int static_shared = 0;
  int blocks = 0;
  int most_threads = 0;
  const auto threads = static_cast<int>(kernel.blockDimX * kernel.blockDimY * kernel.blockDimZ);
  if (driver.attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS ||
      driver.attribute(&static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) != CUDA_SUCCESS ||
      driver.resident_blocks(&blocks, function, threads, kernel.sharedMemBytes) != CUDA_SUCCESS) {
    return {};
  }
  check_cuda(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device),
             "cudaDeviceGetAttribute");
  KernelResources resources;
  resources.registers = registers;
  resources.shared_bytes = static_cast<std::size_t>(static_shared) + kernel.sharedMemBytes;
  const int warps = blocks * ((threads + 31) / 32);
  resources.occupancy = static_cast<double>(warps) / (static_cast<double>(most_threads) / 32.0);
  return resources;
}

LaunchSummary summarize(cudaGraph_t graph, int device) {
  static const Driver driver;
  std::vector<cudaGraphNode_t> nodes;
  collect(graph, nodes);
  LaunchSummary summary;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check_cuda(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset) ++summary.launches;
    if (type != cudaGraphNodeTypeKernel) continue;
    ++summary.launches;
    CUDA_KERNEL_NODE_PARAMS kernel{};
    if (!driver.complete() || driver.node_params(node, &kernel) != CUDA_SUCCESS) continue;
    const KernelResources found = resources_of(driver, kernel, device);
    const bool known = summary.resources.occupancy > 0;
    if (!known || (found.occupancy > 0 && found.occupancy < summary.resources.occupancy)) {
      summary.resources = found;
    }
  }
  return summary;
}

}  // namespace

LaunchSummary summarize_launches(const core::Device& device, core::Stream& stream,
                                 const std::function<void()>& launch) {
  cudaStream_t native = core::cuda_stream(stream);
  check_cuda(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    launch();
  } catch (...) {
    cudaStreamEndCapture(native, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(native, &graph), "cudaStreamEndCapture");
  try {
    const LaunchSummary summary = summarize(graph, device.info().index);
    cudaGraphDestroy(graph);
    return summary;
  } catch (...) {
    cudaGraphDestroy(graph);
    throw;
  }
}

}  // namespace warpscope::profiling
