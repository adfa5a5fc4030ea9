// The CUDA side of gpu/core/device.h.

#include <fmt/format.h>

#include "gpu/core/allocations.h"
#include "gpu/core/cuda.h"
#include "gpu/core/device_lost.h"
#include "gpu/core/error.h"

namespace warpscope::core {
namespace {

/// Whether CUDA says of an error that the process has to end before anything can be done again.
bool loses_device(cudaError_t status) {
  switch (status) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check_cuda(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  const auto text = fmt::format("{}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  if (loses_device(status)) throw DeviceLost(text);
  throw Error(text);
}

namespace {

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(bool timing) {
    check_cuda(cudaEventCreateWithFlags(&event_, timing ? cudaEventDefault : cudaEventDisableTiming),
               "cudaEventCreate");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  bool ready() const override {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check_cuda(status, "cudaEventQuery");
    return true;
  }
  void synchronize() const override { check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  double microseconds_since(const Event& start) const override {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(start.native()), event_),
               "cudaEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds);
  }
  void* native() const override { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaGraph final : public Graph {
 public:
  explicit CudaGraph(cudaGraphExec_t graph) : graph_(graph) {}
  ~CudaGraph() override { cudaGraphExecDestroy(graph_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  cudaGraphExec_t get() const { return graph_; }

 private:
  cudaGraphExec_t graph_;
};

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int priority = 0) {
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority), "cudaStreamCreate");
  }
  ~CudaStream() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  void copy(void* destination, const void* source, std::size_t bytes) override {
    if (bytes == 0) return;
    check_cuda(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
  }
  void fill(void* destination, std::uint8_t value, std::size_t bytes) override {
    if (bytes == 0) return;
    check_cuda(cudaMemsetAsync(destination, value, bytes, stream_), "cudaMemsetAsync");
  }
  void record(Event& event) override {
    // In a capture the event must become a node of the graph that every replay records.
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    check_cuda(cudaStreamIsCapturing(stream_, &capturing), "cudaStreamIsCapturing");
    const bool captured = capturing != cudaStreamCaptureStatusNone;
    const unsigned flags = captured ? cudaEventRecordExternal : cudaEventRecordDefault;
    check_cuda(cudaEventRecordWithFlags(static_cast<cudaEvent_t>(event.native()), stream_, flags),
               "cudaEventRecord");
  }
  void wait(const Event& event) override {
    check_cuda(cudaStreamWaitEvent(stream_, static_cast<cudaEvent_t>(event.native()), 0),
               "cudaStreamWaitEvent");
  }
  void follow(Stream& other) override {
    // In a capture this is an edge of the graph and not, as record() makes it, a node.
    const auto reached = static_cast<cudaEvent_t>(followed_.native());
    check_cuda(cudaEventRecord(reached, static_cast<CudaStream&>(other).stream_), "cudaEventRecord");
    wait(followed_);
  }
  void synchronize() override {
    check_cuda(cudaStreamSynchronize(stream_), "a kernel or copy of the training stream");
  }
  std::unique_ptr<Graph> capture(std::function<void()> body) override {
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      body();
    } catch (...) {
      cudaStreamEndCapture(stream_, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "cudaGraphInstantiate");
    return std::make_unique<CudaGraph>(executable);
  }
  void launch(Graph& graph) override {
    check_cuda(cudaGraphLaunch(static_cast<CudaGraph&>(graph).get(), stream_), "cudaGraphLaunch");
  }
  void* native() const override { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  CudaEvent followed_{false};
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const DeviceInfo& info) : info_(info) { make_current(); }
  const DeviceInfo& info() const override { return info_; }

  void* allocate(std::size_t bytes) override {
    make_current();
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory(fmt::format("{} has {:.1f} MiB of memory free, {:.1f} MiB more are needed",
                                    info_.name, static_cast<double>(memory_free()) / 1048576.0,
                                    static_cast<double>(bytes) / 1048576.0));
    }
    check_cuda(status, "cudaMalloc");
    allocations_.note(memory, bytes);
    return memory;
  }
  void deallocate(void* memory) noexcept override {
    if (memory == nullptr) return;
    allocations_.forget(memory);
    cudaSetDevice(info_.index);
    cudaFree(memory);
  }
  void* allocate_host(std::size_t bytes) override {
    make_current();
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, bytes), "cudaMallocHost");
    return memory;
  }
  void deallocate_host(void* memory) noexcept override {
    if (memory != nullptr) cudaFreeHost(memory);
  }
  std::unique_ptr<Stream> make_stream() override {
    make_current();
    return std::make_unique<CudaStream>();
  }
  std::unique_ptr<Stream> make_urgent_stream() override {
    make_current();
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    return std::make_unique<CudaStream>(greatest);
  }
  std::unique_ptr<Event> make_event(bool timing) override {
    make_current();
    return std::make_unique<CudaEvent>(timing);
  }
  MemoryUse memory() const override {
    cudaSetDevice(info_.index);
    MemoryUse use;
    if (cudaMemGetInfo(&use.free_bytes, &use.total_bytes) != cudaSuccess) cudaGetLastError();
    use.allocated_bytes = allocations_.bytes();
    return use;
  }
  void make_current() override { check_cuda(cudaSetDevice(info_.index), "cudaSetDevice"); }

 private:
  static std::size_t memory_free() {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) cudaGetLastError();
    return free_bytes;
  }
  DeviceInfo info_;
  Allocations allocations_;
};

std::string version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

}  // namespace

std::vector<DeviceInfo> list_cuda_devices(std::string& why) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    // Without any driver CUDA speaks of an old one; version 0 tells the two apart.
    if (driver == 0) {
      why = "no NVIDIA driver";
    } else if (status == cudaSuccess) {
      why = "no CUDA device";
    } else {
      why = fmt::format("CUDA says: {}", cudaGetErrorString(status));
    }
    return {};
  }
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.index = index;
    info.name = properties.name;
    info.compute_capability = 10 * properties.major + properties.minor;
    info.multiprocessors = properties.multiProcessorCount;
    info.memory_bytes = properties.totalGlobalMem;
    info.driver = fmt::format("driver CUDA {}, runtime {}", version(driver), version(runtime));
    devices.push_back(std::move(info));
  }
  if (devices.empty()) why = "no CUDA device answers";
  return devices;
}

std::shared_ptr<Device> open_cuda_device(const DeviceInfo& info) {
  return std::make_shared<CudaDevice>(info);
}

}  // namespace warpscope::core
