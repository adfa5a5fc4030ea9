#include "gpu/user_kernels/driver.h"

#include <fmt/format.h>

#include "gpu/core/opened_library.h"

namespace warpscope::user_kernels {
namespace {

/// What CUDA's numbers of errors say of a kernel, behind its name. The first two leave the context as it was.
struct Failure {
  int code;
  const char* text;
};
constexpr Failure kFailures[] = {
    {1, "asks for a launch that GPUs cannot make"},
    {701, "needs more registers or shared memory for a block than the GPU has"},
    {700, "touches memory that is not its own"},
    {702, "took longer than the display's driver allows"},
    {710, "fails an assert()"},
    {714, "overflows its stack, or corrupts it"},
    {715, "runs into an instruction that this GPU does not have, or a trap"},
    {716, "touches memory at an address that is no multiple of what it reads or writes there"},
    {717, "touches memory of another kind than its instruction is for"},
    {718, "jumps to where no code is"},
    {719, "runs into a trap, or touches shared memory that is not its own"},
};

}  // namespace

Driver::Driver() {
  core::OpenedLibrary library({"libcuda.so.1"});
  if (!library.is_open()) {
    missing = "CUDA's driver (libcuda.so.1) is not on this machine";
    return;
  }
  library.find("cuModuleLoadData", load);
  library.find("cuModuleUnload", unload);
  library.find("cuModuleGetFunction", function);
  library.find("cuLaunchKernel", launch);
  library.find("cuMemAlloc_v2", allocate);
  library.find("cuMemFree_v2", free);
  library.find("cuMemcpyDtoH_v2", to_host);
  library.find("cuGetErrorString", error_text);
  library.find("cuCtxSynchronize", synchronize);
  library.find("cuCtxGetDevice", device);
  library.find("cuDeviceGetAttribute", device_attribute);
  library.find("cuFuncGetAttribute", function_attribute);
  library.find("cuOccupancyMaxActiveBlocksPerMultiprocessor", resident_blocks);
  if (!library.missing().empty())
    missing = fmt::format("CUDA's driver on this machine has no {}", library.missing());
}

const Driver& driver() {
  static const Driver once;
  return once;
}

std::string failure_text(int result) {
  for (const Failure& each : kFailures) {
    if (each.code == result) return each.text;
  }
  const char* text = nullptr;
  driver().error_text(result, &text);
  return fmt::format("ends with error {} of CUDA: {}", result, text == nullptr ? "unknown" : text);
}

}  // namespace warpscope::user_kernels
