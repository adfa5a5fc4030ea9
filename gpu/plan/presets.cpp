#include "gpu/plan/presets.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan {
namespace {

using core::DeviceKind;
using ops::Op;

/// A preset and how it chooses: of each op the first name in `names` that runs. Without `characteristic` variants of the
/// convolutions it would not be what its name says.
struct Definition {
  Preset preset;
  DeviceKind device;
  std::vector<std::string_view> names;
  std::vector<std::string_view> characteristic;
};

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> all{
      {{"fastest", "fastest", "The default: our fastest kernel of every operation on this device."},
       DeviceKind::cuda,
       {},
       {}},
      {{"naive", "naive", "The simplest kernel of every operation: a thread an element, no shared memory."},
       DeviceKind::cuda,
       {"parts", "naive", "gather", "per_weight", "direct", "warp_shuffle"},
       {"naive"}},
      {{"atomic", "atomic", "Backward passes that scatter with atomic additions, as first written by many."},
       DeviceKind::cuda,
       {"parts", "atomic", "naive"},
       {"atomic"}},
      {{"atomic_free", "atomic-free", "The same backward passes with a thread for each result: no atomics."},
       DeviceKind::cuda,
       {"parts", "gather", "tree_reduction", "per_weight", "warp_shuffle", "direct", "naive"},
       {"gather"}},
      {{"tiled", "tiled", "Forward convolutions with tiles of input and weights in shared memory."},
       DeviceKind::cuda,
       {"parts", "tiled", "gather", "tree_reduction", "warp_shuffle", "direct", "vectorized", "naive"},
       {"tiled"}},
      {{"implicit_gemm", "implicit GEMM",
        "Convolutions as matrix products that are never stored, on the CUDA cores."},
       DeviceKind::cuda,
       {"parts", "implicit_gemm", "tiled", "warp_shuffle", "direct", "vectorized", "naive"},
       {"implicit_gemm"}},
      {{"tensor_cores", "tensor cores", "Convolutions on the tensor cores, bias and ReLU in their epilogue."},
       DeviceKind::cuda,
       {"parts", "mma_fused", "mma", "split_k_fused", "split_k", "fused", "warp_shuffle_fused",
        "warp_shuffle", "direct", "vectorized_fused", "vectorized", "naive"},
       {"mma"}},
      {{"cudnn", "cuDNN", "The library's convolutions; our own kernels for the rest."},
       DeviceKind::cuda,
       {"parts", "cudnn", "cublas_fused", "cublas", "warp_shuffle_fused", "warp_shuffle", "direct",
        "vectorized_fused", "vectorized", "naive"},
       {"cudnn"}},
      {{"loops", "loops", "Plain loops on one core."}, DeviceKind::cpu, {"parts", "loops"}, {"loops"}},
      {{"onednn", "oneDNN", "The library's kernels on all cores."},
       DeviceKind::cpu,
       {"parts", "onednn", "loops"},
       {"onednn"}}};
  return all;
}

const Definition& find(std::string_view id, DeviceKind device) {
  std::vector<std::string_view> valid;
  for (const Definition& each : definitions()) {
    if (each.device != device) continue;
    if (id == each.preset.id) return each;
    valid.emplace_back(each.preset.id);
  }
  throw core::BadInput(fmt::format("unknown preset '{}' on {}; valid: {}", id, core::to_string(device),
                                   fmt::join(valid, ", ")));
}

constexpr std::array kConvolutions{Op::conv2d_forward, Op::conv2d_backward_input,
                                   Op::conv2d_backward_weights};

/// Precisions in which a convolution has one of the characteristic variants here.
std::vector<std::string_view> precisions_of(const Definition& definition, const core::DeviceInfo& device) {
  std::vector<std::string_view> names;
  for (const core::Precision precision : core::selectable_precisions()) {
    const bool has = std::any_of(kConvolutions.begin(), kConvolutions.end(), [&](Op op) {
      return std::any_of(definition.characteristic.begin(), definition.characteristic.end(), [&](auto name) {
        const ops::Variant* variant = ops::find_variant(op, device.kind, name);
        return variant != nullptr && ops::unavailable_reason(*variant, device, precision).empty();
      });
    });
    if (has) names.push_back(core::to_string(precision));
  }
  return names;
}

}  // namespace

std::vector<Preset> presets(DeviceKind device) {
  std::vector<Preset> list;
  for (const Definition& each : definitions()) {
    if (each.device == device) list.push_back(each.preset);
  }
  return list;
}

std::string preset_unavailable_reason(std::string_view id, const core::DeviceInfo& device,
                                      core::Precision precision) {
  const Definition& definition = find(id, device.kind);
  if (definition.characteristic.empty()) return "";
  const auto possible = precisions_of(definition, device);
  if (std::find(possible.begin(), possible.end(), core::to_string(precision)) != possible.end()) return "";
  const std::string variants = fmt::format("{}", fmt::join(definition.characteristic, ", "));
  if (possible.empty()) return fmt::format("no convolution has {} on this device", variants);
  return fmt::format("no convolution has {} in {}; in {}", variants, core::to_string(precision),
                     fmt::join(possible, ", "));
}

Selection preset_selection(std::string_view id, const core::DeviceInfo& device, core::Precision precision) {
  const Definition& definition = find(id, device.kind);
  if (const std::string reason = preset_unavailable_reason(id, device, precision); !reason.empty()) {
    throw core::BadInput(fmt::format("preset {} cannot run: {}", id, reason));
  }
  Selection selection = default_selection(device, precision);
  for (auto& [op, name] : selection.variants) {
    for (const std::string_view wanted : definition.names) {
      const ops::Variant* variant = ops::find_variant(op, device.kind, wanted);
      if (variant == nullptr || !ops::unavailable_reason(*variant, device, precision).empty()) continue;
      name = wanted;
      break;
    }
  }
  settle_placeholders(selection, device);
  return selection;
}

std::string preset_of(const Selection& selection, const core::DeviceInfo& device) {
  std::string found;
  for (const Definition& each : definitions()) {
    if (each.device != device.kind) continue;
    if (!preset_unavailable_reason(each.preset.id, device, selection.precision).empty()) continue;
    // Another name says more than "fastest", which is the first.
    if (preset_selection(each.preset.id, device, selection.precision) == selection) found = each.preset.id;
  }
  return found;
}

}  // namespace warpscope::plan
