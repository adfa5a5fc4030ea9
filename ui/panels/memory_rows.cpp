#include "ui/panels/memory_rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/recipe.h"
#include "gpu/plan/presets.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

constexpr int kLargestBatch = 1 << 16;

plan::MemoryMap map_of(const models::Model& model, const plan::Machine& machine, const MemoryScene& scene) {
  return plan::memory_map(models::with_head(model, scene.head_classes), plan::Purpose::training,
                          scene.selection, training::plan_batch(scene.optimizer, scene.batch), machine,
                          training::recipe_of(scene.optimizer, scene.augment, scene.batch));
}

std::string call_text(const plan::MemoryCall& call) {
  return call.layer.empty() ? std::string(ops::to_string(call.op))
                            : fmt::format("{} of {}", ops::to_string(call.op), call.layer);
}

}  // namespace

MemoryScene MemoryScene::of(const training::Snapshot& snapshot) {
  MemoryScene scene{snapshot.selection, snapshot.settings->batch};
  scene.optimizer.rule = snapshot.settings->optimizer.rule;
  scene.optimizer.clip_norm = snapshot.settings->optimizer.clip_norm > 0 ? 1.0f : 0.0f;
  scene.optimizer.accumulate = snapshot.settings->optimizer.accumulate;
  scene.optimizer.per_sample = snapshot.settings->optimizer.per_sample;
  scene.augment.flip = augments(snapshot.settings->augment);
  scene.augment.mixup = snapshot.settings->augment.mixup > 0 ? 1.0f : 0.0f;
  if (snapshot.settings->optimizer.joint > 0 && snapshot.data) {
    scene.head_classes = static_cast<int>(snapshot.data->classes.size());
  }
  return scene;
}

std::optional<plan::MemoryMap> step_memory(const models::Model& model, const plan::Machine& machine,
                                           const MemoryScene& scene) {
  try {
    return map_of(model, machine, scene);
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

std::vector<MemoryChoice> memory_choices(const models::Model& model, const plan::Machine& machine,
                                         const MemoryScene& scene) {
  std::vector<MemoryChoice> choices;
  const auto add = [&](const char* group, std::string name, const std::function<void(MemoryScene&)>& change) {
    MemoryChoice choice{group, std::move(name)};
    try {
      MemoryScene other = scene;
      change(other);
      choice.now = other == scene;
      choice.bytes = map_of(model, machine, other).bytes;
    } catch (const core::Error& error) {
      choice.refusal = error.what();
    }
    choices.push_back(std::move(choice));
  };
  for (const core::Precision precision : plan::training_precisions(machine)) {
    add("precision", std::string(core::to_string(precision)), [&](MemoryScene& other) {
      other.selection = plan::with_precision(scene.selection, precision, machine);
    });
  }
  for (int quarters = 1; quarters <= 16; quarters *= 2) {
    const int batch = scene.batch * quarters / 4;
    if (batch < 1 || batch > kLargestBatch || 4 * batch != scene.batch * quarters) continue;
    add("batch", with_thousands(batch), [&](MemoryScene& other) { other.batch = batch; });
  }
  for (const plan::Preset& preset : plan::presets(machine.device.kind)) {
    add("variants", preset.label, [&](MemoryScene& other) {
      other.selection = plan::preset_selection(preset.id, machine, scene.selection.precision);
    });
  }
  return choices;
}

ByteUnit unit_of(const plan::MemoryMap& map) {
  static constexpr std::array kUnits{ByteUnit{0x1p30, "GiB"}, ByteUnit{0x1p20, "MiB"},
                                     ByteUnit{0x1p10, "KiB"}};
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const ByteUnit& unit) {
    return static_cast<double>(map.bytes) >= unit.bytes;
  });
  return found == kUnits.end() ? ByteUnit{} : *found;
}

const plan::MemoryPart* part_at(const plan::MemoryMap& map, std::size_t call, std::size_t offset) {
  for (const plan::MemoryPart& part : map.parts) {
    const bool holds = part.first <= call && call <= part.last;
    if (holds && part.offset <= offset && offset < part.offset + part.bytes) return &part;
  }
  return nullptr;
}

std::string tip_of(const plan::MemoryMap& map, const plan::MemoryPart& part) {
  const std::string what = part.kind == plan::MemoryKind::workspace
                               ? "workspace"
                               : fmt::format("{}, {}", part.name, to_string(part.kind));
  std::string tip = fmt::format("{}\n{}, from byte {}\n", what, bytes_text(static_cast<double>(part.bytes)),
                                with_thousands(static_cast<double>(part.offset)));
  const plan::MemoryCall &first = map.calls[part.first], &last = map.calls[part.last];
  if (part.first == part.last) {
    tip += fmt::format("held during {}", call_text(first));
  } else {
    tip += fmt::format("held from {}\nto {}", call_text(first), call_text(last));
  }
  return tip;
}

}  // namespace warpscope::ui
