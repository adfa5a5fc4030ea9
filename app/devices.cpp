// warpscope devices: what this machine can run on.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/commands.h"
#include "gpu/core/device.h"
#include "gpu/files/file.h"
#include "gpu/files/streams.h"
#include "gpu/ops/variant.h"

namespace warpscope::app {
namespace {

/// "hopper with bias, relu, maxpool2d (tf32, fp16, bf16)": what calls of `variant` cover and the precisions in which it
/// runs on `device`, or why it does not run at all.
std::string describe(const ops::Variant& variant, const core::DeviceInfo& device) {
  const ops::OpSet all = ops::coverable_ops(variant);
  const std::string name =
      all.empty() ? variant.name : fmt::format("{} with {}", variant.name, ops::describe(all));
  std::vector<std::string_view> precisions;
  for (const core::Precision precision : core::selectable_precisions()) {
    if (ops::unavailable_reason(variant, device, precision).empty())
      precisions.push_back(core::to_string(precision));
  }
  if (!precisions.empty()) return fmt::format("{} ({})", name, fmt::join(precisions, ", "));
  return fmt::format("{} ({})", name,
                     ops::unavailable_reason(variant, device, ops::precisions_of(variant).front()));
}

void print_variants(const core::DeviceInfo& device) {
  for (const ops::OpContract& contract : ops::contracts()) {
    std::vector<std::string> variants;
    for (const ops::Variant* variant :
         ops::variants_of(*ops::built_in_variants(), contract.op, device.kind)) {
      variants.push_back(describe(*variant, device));
    }
    files::print("    {:<24} {}\n", contract.name, fmt::join(variants, ", "));
  }
}

/// What CUDA would run here if it could.
void print_unavailable_variants() {
  for (const ops::OpContract& contract : ops::contracts()) {
    std::vector<std::string> names;
    for (const ops::Variant* variant :
         ops::variants_of(*ops::built_in_variants(), contract.op, core::DeviceKind::cuda)) {
      names.push_back(variant->name);
    }
    if (!names.empty()) files::print("    {:<24} unavailable: {}\n", contract.name, fmt::join(names, ", "));
  }
}

int list() {
  for (const core::DeviceInfo& device : core::list_devices()) {
    const double gib = static_cast<double>(device.memory_bytes) / (1024.0 * 1024.0 * 1024.0);
    if (device.kind == core::DeviceKind::cuda) {
      files::print("{:<8} {}, compute capability {}.{}, {}, {:.1f} GiB, {}\n", device.id(), device.name,
                   device.compute_capability / 10, device.compute_capability % 10,
                   files::counted(device.multiprocessors, "multiprocessor"), gib, device.driver);
    } else {
      files::print("{:<8} {}, {}, {:.1f} GiB\n", device.id(), device.name,
                   files::counted(device.multiprocessors, "core"), gib);
    }
    print_variants(device);
  }
  if (const std::string why = core::cuda_unavailable_reason(); !why.empty()) {
    files::print("cuda     none: {}\n", why);
    print_unavailable_variants();
  }
  return 0;
}

}  // namespace

Run devices(CLI::App& /*app*/) {
  return list;
}

}  // namespace warpscope::app
