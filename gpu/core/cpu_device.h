#pragma once
// The CPU as a device: memory is ordinary memory, streams run in the calling thread, graphs are stored calls.

#include <memory>

#include "gpu/core/device.h"

namespace warpscope::core {

DeviceInfo cpu_device_info();
std::shared_ptr<Device> open_cpu_device();

}  // namespace warpscope::core
