#pragma once
// Only for CUDA code: checks of CUDA calls and the stream of a call.

#include <memory>
#include <string_view>
#include <vector>

#include <cuda_runtime.h>

#include "gpu/core/device.h"

namespace warpscope::core {

/// Throws OutOfMemory or Error that names `what` and CUDA's own name and text of the error. Clears the error,
/// so that the next call starts clean.
void check_cuda(cudaError_t status, std::string_view what);

/// Checks the launch just made; `kernel` names it ("conv2d.forward naive").
inline void check_launch(std::string_view kernel) {
  check_cuda(cudaGetLastError(), kernel);
}

inline cudaStream_t cuda_stream(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.native());
}

/// CUDA devices that this build can use. Empty, with the reason in `why`, if there are none.
std::vector<DeviceInfo> list_cuda_devices(std::string& why);

std::shared_ptr<Device> open_cuda_device(const DeviceInfo& info);

}  // namespace warpscope::core
