#include "gpu/plan/presets.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan {
namespace {

using core::DeviceKind;

struct Row {
  DeviceKind device;
  Preset preset;
};

constexpr std::array kRows{
    Row{DeviceKind::cuda,
        {"fastest", "fastest", "The default: our fastest kernel of every operation on this device."}},
    Row{DeviceKind::cuda,
        {"naive", "naive", "The simplest kernel of every operation: a thread an element, no shared memory."}},
    Row{DeviceKind::cuda,
        {"atomic", "atomic",
         "Backward passes that scatter with atomic additions, as first written by many."}},
    Row{DeviceKind::cuda,
        {"atomic_free", "atomic-free",
         "The same backward passes with a thread for each result: no atomics."}},
    Row{DeviceKind::cuda,
        {"tiled", "tiled", "Forward convolutions with tiles of input and weights in shared memory."}},
    Row{DeviceKind::cuda,
        {"implicit_gemm", "implicit GEMM",
         "Convolutions as matrix products that are never stored, on the CUDA cores."}},
    Row{DeviceKind::cuda,
        {"wmma", "WMMA",
         "Convolutions and linear layers on the tensor cores by the interface that all have since Turing."}},
    Row{DeviceKind::cuda,
        {"tensor_cores", "tensor cores",
         "Convolutions on the tensor cores, bias and ReLU in their epilogue."}},
    Row{DeviceKind::cuda,
        {"cudnn", "cuDNN",
         "The libraries' convolutions and linear layers; our fastest kernels for the rest."}},
    Row{DeviceKind::cpu, {"loops", "loops", "Plain loops on one core."}},
    Row{DeviceKind::cpu, {"onednn", "oneDNN", "The library's kernels on all cores."}}};

const Preset& find(std::string_view id, DeviceKind device) {
  std::vector<std::string_view> valid;
  for (const Row& each : kRows) {
    if (each.device != device) continue;
    if (id == each.preset.id) return each.preset;
    valid.emplace_back(each.preset.id);
  }
  throw core::BadInput(fmt::format("unknown preset '{}' on {}; valid: {}", id, core::to_string(device),
                                   fmt::join(valid, ", ")));
}

const ops::PresetTag* tag_of(const ops::Variant& variant, std::string_view preset) {
  for (const ops::PresetTag& tag : variant.presets) {
    if (tag.preset == preset) return &tag;
  }
  return nullptr;
}

/// The variants without which the preset would not be what its name says.
std::vector<const ops::Variant*> characteristic_variants(std::string_view preset, const Machine& machine) {
  std::vector<const ops::Variant*> found;
  for (const ops::Variant& variant : machine.variants) {
    const ops::PresetTag* tag = variant.device == machine.device.kind ? tag_of(variant, preset) : nullptr;
    if (tag != nullptr && tag->characteristic) found.push_back(&variant);
  }
  return found;
}

/// By to_string() of the selection.
struct Names {
  std::mutex mutex;
  std::map<std::string, std::string> all;
};

Names& given_names() {
  static Names names;
  return names;
}

}  // namespace

std::vector<Preset> presets(DeviceKind device) {
  std::vector<Preset> list;
  for (const Row& each : kRows) {
    if (each.device == device) list.push_back(each.preset);
  }
  return list;
}

std::string preset_unavailable_reason(std::string_view id, const Machine& machine,
                                      core::Precision precision) {
  const auto needed = characteristic_variants(find(id, machine.device.kind).id, machine);
  std::vector<std::string_view> possible;
  for (const core::Precision each : core::selectable_precisions()) {
    const bool has = std::ranges::any_of(needed, [&](const ops::Variant* variant) {
      return ops::unavailable_reason(*variant, machine.device, each).empty();
    });
    if (has && each == precision) return "";
    if (has) possible.push_back(core::to_string(each));
  }
  if (needed.empty()) return "";
  const std::string what =
      fmt::format("its kernels ({} of {})", needed.front()->name, to_string(needed.front()->op));
  if (possible.empty()) return fmt::format("{} do not run on this device", what);
  return fmt::format("{} do not run in {}; in {}", what, core::to_string(precision),
                     fmt::join(possible, ", "));
}

Selection preset_selection(std::string_view id, const Machine& machine, core::Precision precision) {
  const Preset& preset = find(id, machine.device.kind);
  if (const std::string reason = preset_unavailable_reason(id, machine, precision); !reason.empty()) {
    throw core::BadInput(fmt::format("preset {} cannot run: {}", id, reason));
  }
  Selection selection{precision, {}};
  for (const ops::Variant& variant : machine.variants) {  // of an op the last one wins
    if (variant.device != machine.device.kind || tag_of(variant, preset.id) == nullptr) continue;
    if (ops::unavailable_reason(variant, machine.device, precision).empty())
      selection.variants[variant.op] = variant.name;
  }
  return selection;
}

std::string preset_of(const Selection& selection, const Machine& machine) {
  std::string found;
  for (const Preset& each : presets(machine.device.kind)) {
    if (!preset_unavailable_reason(each.id, machine, selection.precision).empty()) continue;
    // Another name says more than "fastest", which is the first.
    if (preset_selection(each.id, machine, selection.precision) == selection) found = each.id;
  }
  return found;
}

void name_selection(const Selection& selection, const std::string& name) {
  Names& names = given_names();
  const std::lock_guard lock(names.mutex);
  names.all[to_string(selection)] = name;
}

std::string label_of(const Selection& selection, const Machine& machine) {
  const std::string id = preset_of(selection, machine);
  for (const Preset& preset : presets(machine.device.kind)) {
    if (id == preset.id) return preset.label;
  }
  if (selection.variants.empty()) return std::string(kAutomatic);
  Names& names = given_names();
  const std::lock_guard lock(names.mutex);
  const auto found = names.all.find(to_string(selection));
  return found == names.all.end() ? "" : found->second;
}

std::string chosen_preset(const Selection& from, const Selection& to, const Machine& machine) {
  std::set<ops::Op> changed;
  const auto compare = [&changed](const Selection& a, const Selection& b) {
    for (const auto& [op, name] : a.variants) {
      const auto other = b.variants.find(op);
      if (other == b.variants.end() || other->second != name) changed.insert(op);
    }
  };
  compare(from, to);
  compare(to, from);
  if (from.precision != to.precision || changed.size() < 2) return "";
  const std::string preset = preset_of(to, machine);
  return preset.empty() && to.variants.empty() ? std::string(kAutomatic) : preset;
}

}  // namespace warpscope::plan
