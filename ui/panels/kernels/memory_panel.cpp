#include "ui/panels/kernels/memory_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/recipe.h"
#include "gpu/files/file.h"
#include "gpu/plan/presets.h"
#include "ui/input/cursor.h"
#include "ui/plot/axis.h"
#include "ui/text/numbers.h"
#include "ui/text/terms.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using plan::MemoryKind;
using plan::MemoryPart;

enum : std::size_t { kName, kBytes, kTimes };

constexpr std::array<Column, 3> kColumns{{
    text_column("with", "One choice that differs from those in use.", 96),
    number_column("step memory", "", 80),
    number_column("\u00d7 now", "Times as much as now.", 48, 1),
}};

/// Width in design pixels from which on the choices stand beside the map.
constexpr float kBeside = 560;
constexpr float kChoicesWidth = 270;

ImU32 color_of(const Frame& frame, MemoryKind kind) {
  static constexpr std::array<std::size_t, plan::kMemoryKinds> kSeries{5, 0, 1, 4, 2};
  return frame.palette.series[kSeries[static_cast<std::size_t>(kind)]];
}

float axis_width(const Frame& frame) {
  return std::floor(60 * frame.scale);
}

constexpr int kLargestBatch = 1 << 16;

plan::MemoryMap map_of(const models::Model& model, const plan::Machine& machine, const MemoryScene& scene) {
  const training::Division part =
      training::divide(scene.optimizer, scene.batch, scene.deterministic, {0, scene.ranks});
  return plan::memory_map(
      models::with_head(model, scene.head_classes), plan::Purpose::training, scene.selection, part.batch,
      machine,
      training::recipe_of(scene.optimizer, scene.augment, part, scene.sync_batch_norm ? scene.batch : 0));
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
  scene.deterministic = snapshot.settings->deterministic;
  scene.sync_batch_norm = snapshot.settings->sync_batch_norm;
  scene.ranks = std::max(1, static_cast<int>(snapshot.ranks.size()));
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

std::span<const Column> MemoryPanel::columns() {
  return kColumns;
}

void MemoryPanel::refresh(const Frame& frame) {
  const MemoryScene scene = MemoryScene::of(frame.snapshot);
  if (scene_ == scene) return;
  scene_ = scene;
  map_ = step_memory(model_, machine_of(frame.snapshot), scene);
  choices_ = memory_choices(model_, machine_of(frame.snapshot), scene);
}

void MemoryPanel::draw(const Frame& frame) {
  if (frame.snapshot.settings->batch == 0) {
    panel_body(frame, false);
    centered_text(frame, "The memory of a step is planned as soon as the training is ready.");
    return;
  }
  refresh(frame);
  draw_title(frame);
  panel_body(frame, false);
  if (!map_ || map_->calls.empty()) {
    centered_text(frame, "This program cannot plan the steps of that run: it lacks their device's variants.");
    return;
  }
  draw_legend(frame);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float s = frame.scale, side = std::floor(kChoicesWidth * s);
  const bool beside = room.x >= kBeside * s;
  draw_map(frame, ImVec2(beside ? room.x - side - std::floor(12 * s) : room.x, room.y));
  if (!beside) return;
  ImGui::SameLine(0, std::floor(12 * s));
  draw_choices(frame, ImVec2(side, room.y));
}

void MemoryPanel::draw_title(const Frame& frame) const {
  if (!map_ || map_->calls.empty()) return;
  const training::Snapshot& snapshot = frame.snapshot;
  std::string text = fmt::format("step memory {} over {}", bytes_text(static_cast<double>(map_->bytes)),
                                 files::counted(static_cast<std::int64_t>(map_->calls.size()), "call"));
  if (text_width(frame.fonts.small, text) > title_room(frame)) return;
  const plan::MemoryCall& peak = map_->calls[map_->peak_call()];
  caption(frame, text);
  std::string tip = label_tip(
      "step memory", fmt::format("The line is what is held during each call. During {}{} it is the most, {}: "
                                 "no placement does with less.",
                                 ops::to_string(peak.op), peak.layer.empty() ? "" : " of " + peak.layer,
                                 bytes_text(static_cast<double>(peak.live_bytes))));
  if (snapshot.memory.allocated_bytes > 0) {
    tip += fmt::format(
        "\nTraining memory: {}, with data, weights, optimizer and the plans of tests and pictures.",
        bytes_text(static_cast<double>(snapshot.memory.allocated_bytes)));
  }
  tooltip(frame, tip);
}

void MemoryPanel::draw_legend(const Frame& frame) const {
  std::vector<ColorKey> keys;
  for (std::size_t i = 0; i < plan::kMemoryKinds; ++i) {
    const auto kind = static_cast<MemoryKind>(i);
    const bool there = std::any_of(map_->parts.begin(), map_->parts.end(),
                                   [&](const MemoryPart& part) { return part.kind == kind; });
    if (there) keys.push_back({color_of(frame, kind), to_string(kind)});
  }
  color_keys(frame, keys);
}

void MemoryPanel::draw_map(const Frame& frame, ImVec2 size) {
  const float s = frame.scale;
  size = ImVec2(std::max(1.0f, size.x), std::max(1.0f, size.y));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  hit_area("memory.map", size);
  trace_item("memory.map");
  const ImVec2 min(std::min(at.x + axis_width(frame), at.x + size.x - 1), std::floor(at.y + 6 * s));
  const ImVec2 max(at.x + size.x, std::max(min.y + 1, std::floor(at.y + size.y - 20 * s)));
  const MemoryPart* hovered = nullptr;
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  const bool inside = pointer.x >= min.x && pointer.x < max.x && pointer.y > min.y && pointer.y <= max.y;
  if (ImGui::IsItemHovered() && inside) {
    const double across = static_cast<double>(pointer.x - min.x) / static_cast<double>(max.x - min.x);
    const double up = static_cast<double>(max.y - pointer.y) / static_cast<double>(max.y - min.y);
    hovered = part_at(*map_, static_cast<std::size_t>(across * static_cast<double>(map_->calls.size())),
                      static_cast<std::size_t>(up * static_cast<double>(map_->bytes)));
  }
  draw_parts(frame, min, max, hovered);
  draw_live(frame, min, max);
  if (hovered != nullptr) pointer_tip(frame, tip_of(*map_, *hovered));
  if (ImGui::IsItemClicked() && hovered != nullptr) point_at_layer(frame, model_, hovered->layer);
  trace(frame, hovered);
}

/// The rectangles with their names, over a scale of bytes.
void MemoryPanel::draw_parts(const Frame& frame, ImVec2 min, ImVec2 max, const MemoryPart* hovered) const {
  const float s = frame.scale, pad = std::floor(4 * s);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ByteUnit unit = unit_of(*map_);
  const auto counted = [&](std::size_t bytes) { return static_cast<double>(bytes) / unit.bytes; };
  const double top = counted(map_->bytes);
  const plot::Axis axis{0, top, max.y, min.y, false};
  const int wanted = std::max(2, static_cast<int>((max.y - min.y) / (36 * s)));
  for (const plot::Tick& tick : plot::ticks(axis, wanted, plot::Unit::value)) {
    const float y = std::floor(axis.to_pixel(tick.value));
    list->AddRectFilled(ImVec2(min.x - pad, y), ImVec2(max.x, y + hairline(frame)), frame.palette.grid);
    const std::string label = tick.value == 0 ? unit.name : tick.label;
    draw_text(list, frame.fonts.small, min.x - 2 * pad - text_width(frame.fonts.small, label),
              y + std::floor(4 * s), frame.palette.muted, label);
  }
  const auto calls = static_cast<float>(map_->calls.size());
  const auto x_of = [&](std::size_t call) {
    return std::floor(min.x + static_cast<float>(call) / calls * (max.x - min.x));
  };
  const std::string_view chosen = pointed_layer(frame, model_);
  for (const MemoryPart& part : map_->parts) {
    const ImVec2 corner(x_of(part.first), std::floor(axis.to_pixel(counted(part.offset + part.bytes))));
    const float floor = std::floor(axis.to_pixel(counted(part.offset)));
    const ImVec2 end(std::max(corner.x + 1, x_of(part.last + 1) - hairline(frame)),
                     std::max(corner.y + 1, floor - hairline(frame)));
    const bool pointed = !part.layer.empty() && part.layer == chosen;
    const ImU32 own = blend(color_of(frame, part.kind), frame.palette.panel, 0.8f);
    const ImU32 color = &part == hovered ? blend(frame.palette.text, own, 0.3f) : own;
    list->AddRectFilled(corner, end, color);
    if (pointed) list->AddRect(corner, end, frame.palette.text, 0, 0, std::max(1.0f, std::floor(s)));
    const float width = end.x - corner.x - 2 * pad, height = end.y - corner.y;
    if (height < 14 * s || text_width(frame.fonts.small, part.name) > width) continue;
    draw_text(list, frame.fonts.small, corner.x + pad, std::floor((corner.y + end.y) / 2 + 4 * s),
              readable_on(color, frame.palette.panel, frame.palette.text), part.name);
  }
  const float baseline = std::floor(max.y + 14 * s);
  draw_text(list, frame.fonts.small, min.x, baseline, frame.palette.muted, "first call");
  const float right = max.x - text_width(frame.fonts.small, "last call");
  draw_text(list, frame.fonts.small, right, baseline, frame.palette.muted, "last call");
}

/// The sum of what is held during each call, as a stepped line of whole pixels.
void MemoryPanel::draw_live(const Frame& frame, ImVec2 min, ImVec2 max) const {
  const auto calls = static_cast<float>(map_->calls.size());
  const float line = std::max(1.0f, std::floor(frame.scale));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  float before = max.y;
  for (std::size_t call = 0; call < map_->calls.size(); ++call) {
    const double part = static_cast<double>(map_->calls[call].live_bytes) / static_cast<double>(map_->bytes);
    const float y = std::floor(max.y - static_cast<float>(part) * (max.y - min.y));
    const float left = std::floor(min.x + static_cast<float>(call) / calls * (max.x - min.x));
    const float right = std::floor(min.x + static_cast<float>(call + 1) / calls * (max.x - min.x));
    list->AddRectFilled(ImVec2(left, std::min(before, y)), ImVec2(left + line, std::max(before, y) + line),
                        frame.palette.text);
    list->AddRectFilled(ImVec2(left, y), ImVec2(right, y + line), frame.palette.text);
    before = y;
  }
}

void MemoryPanel::draw_choices(const Frame& frame, ImVec2 size) const {
  const double now = static_cast<double>(map_->bytes);
  Table table(frame, "memory.choices", kColumns, size);
  const std::string* group = nullptr;
  for (const MemoryChoice& choice : choices_) {
    if (group == nullptr || *group != choice.group) {
      group = &choice.group;
      if (table.row()) table.span_text(kName, kTimes, choice.group, frame.palette.muted);
    }
    if (!table.row()) continue;
    const bool runs = choice.bytes > 0;
    const ImU32 color = choice.now ? frame.palette.accent : runs ? frame.palette.text : frame.palette.muted;
    table.text(kName, choice.name, color, choice.now ? "In use now." : choice.refusal);
    table.quantity(kBytes, runs ? bytes_text(static_cast<double>(choice.bytes)) : "\u2014", color,
                   choice.refusal);
    table.number(kTimes, runs ? fmt::format("{:.2f}", static_cast<double>(choice.bytes) / now) : "\u2014",
                 color);
  }
}

void MemoryPanel::trace(const Frame& frame, const MemoryPart* hovered) {
  if (!trace_enabled()) return;
  const std::string now =
      fmt::format("\"bytes\":{},\"calls\":{},\"parts\":{},\"choices\":{},\"output\":{},\"tip\":{}",
                  map_->bytes, map_->calls.size(), map_->parts.size(), choices_.size(),
                  frame.cursor == nullptr ? 0 : frame.cursor->output,
                  json_string(hovered == nullptr ? "" : tip_of(*map_, *hovered)));
  trace_change(traced_, "memory", now);
}

}  // namespace warpscope::ui
