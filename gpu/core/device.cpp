#include "gpu/core/device.h"

#include <fmt/format.h>

#include "gpu/core/cpu_device.h"
#include "gpu/core/error.h"
#if WARPSCOPE_HAVE_CUDA
#include "gpu/core/cuda.h"
#endif

namespace warpscope::core {
namespace {

std::vector<DeviceInfo> cuda_devices(std::string& why) {
#if WARPSCOPE_HAVE_CUDA
  return list_cuda_devices(why);
#else
  why = "this build has no CUDA variants";
  return {};
#endif
}

std::shared_ptr<Device> open_cuda(const DeviceInfo& info) {
#if WARPSCOPE_HAVE_CUDA
  return open_cuda_device(info);
#else
  throw BadInput(fmt::format("{}: this build has no CUDA variants", info.id()));
#endif
}

}  // namespace

std::string DeviceInfo::id() const {
  return kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", index);
}

std::vector<DeviceInfo> list_devices() {
  std::string why;
  auto devices = cuda_devices(why);
  devices.push_back(cpu_device_info());
  return devices;
}

std::string cuda_unavailable_reason() {
  std::string why;
  return cuda_devices(why).empty() ? why : std::string();
}

std::shared_ptr<Device> open_device(std::string_view id) {
  if (id == "cpu") return open_cpu_device();
  std::string why;
  const auto devices = cuda_devices(why);
  if (id == "auto") return devices.empty() ? open_cpu_device() : open_cuda(devices.front());
  const std::string wanted = id == "cuda" ? "cuda:0" : std::string(id);
  std::string valid = "auto, cpu";
  for (const DeviceInfo& info : devices) {
    if (info.id() == wanted) return open_cuda(info);
    valid += ", " + info.id();
  }
  const bool is_cuda = wanted.starts_with("cuda:");
  const std::string reason = is_cuda && devices.empty() ? fmt::format(" ({})", why) : "";
  throw BadInput(
      fmt::format("{} '{}'{}; valid: {}", is_cuda ? "no device" : "unknown device", id, reason, valid));
}

}  // namespace warpscope::core
