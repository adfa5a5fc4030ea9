// warpscope devices: what this machine can run on.

#include <fmt/format.h>

#include "app/commands.h"
#include "gpu/core/device.h"
#include "gpu/ops/variant.h"

namespace warpscope::app {
namespace {

void print_variants(const core::DeviceInfo& device) {
  for (const ops::OpContract& contract : ops::contracts()) {
    std::string names;
    for (const ops::Variant* variant : ops::variants_of(contract.op, device.kind)) {
      const std::string reason = ops::unavailable_reason(*variant, device, core::Precision::fp32);
      names += names.empty() ? "" : ", ";
      names += reason.empty() ? variant->name : fmt::format("{} ({})", variant->name, reason);
    }
    fmt::print("    {:<24} {}\n", contract.name, names);
  }
}

}  // namespace

int devices() {
  for (const core::DeviceInfo& device : core::list_devices()) {
    const double gib = static_cast<double>(device.memory_bytes) / (1024.0 * 1024.0 * 1024.0);
    if (device.kind == core::DeviceKind::cuda) {
      fmt::print("{:<8} {}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB, {}\n", device.id(),
                 device.name, device.compute_capability / 10, device.compute_capability % 10,
                 device.multiprocessors, gib, device.driver);
    } else {
      fmt::print("{:<8} {}, {} cores, {:.1f} GiB\n", device.id(), device.name, device.multiprocessors, gib);
    }
    print_variants(device);
  }
  if (const std::string why = core::cuda_unavailable_reason(); !why.empty()) {
    fmt::print("cuda     none: {}\n", why);
  }
  return 0;
}

}  // namespace warpscope::app
