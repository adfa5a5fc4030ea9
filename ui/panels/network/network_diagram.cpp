#include "ui/panels/network/network_diagram.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/frame/kept_views.h"
#include "ui/frame/trace.h"
#include "ui/input/cursor.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kPointedLayerOpacity = 0.24f;  // of the accent colour behind the layer that is pointed at
// Design pixels: the column of the boxes, the widest of them, their height, and what a line beside them takes.
constexpr float kFlowWidth = 72, kBoxWidth = 40, kLeastBox = 6, kBoxHeight = 12, kLane = 8;
constexpr std::size_t kMostLanes = 3;  // lines of more stand on the last one
constexpr const char* kUnknown = "-";

enum : std::size_t { kFlow, kLayer, kKind, kOutput, kParameters, kFlops, kDuration, kPart, kKept };

constexpr std::array<Column, 9> kColumns{{
    {.label = "",
     .tip = "The wider a box, the larger the output of its layer, in powers of two; those that learn stand "
            "out. Lines lead from a layer to one that adds its output.",
     .width = kFlowWidth,
     .fixed = true},
    text_column("layer", "Click a row: all views show that layer.", 80),
    {.label = "kind",
     .tip = "What the layer does; its name in files of networks.",
     .width = 80,
     .rank = 5,
     .share = 112},
    number_column("output", "Height, width and channels of one image behind the layer.", 88),
    number_column("parameters", "Numbers that the layer learns.", 80, 3),
    number_column("FLOP",
                  "Floating-point operations of a training step at this batch, forward and backward, by the "
                  "formulas. A multiply-add counts as two.",
                  64, 2),
    number_column(
        "\u00b5s",
        "Microseconds that a training step spends in the layer, forward and backward: the medians of the "
        "sampled steps. A call that covers several layers counts to the layer of its own op.",
        72),
    text_column("share", "Share of the whole step.", 80, 1),
    number_column(
        "for backward",
        "Memory of what the layer's forward pass writes and the backward pass reads, so that it is held "
        "in between.",
        80, 4),
}};

ImU32 color_of(const Frame& frame, const DiagramRow& row) {
  return row.part == DiagramPart::layer || row.part == DiagramPart::total ? frame.palette.text
                                                                          : frame.palette.muted;
}

std::string extent_text(const models::Extent& extent) {
  if (extent.height == 1 && extent.width == 1) return with_thousands(extent.channels);
  return fmt::format("{}\u00d7{}\u00d7{}", extent.height, extent.width, extent.channels);
}

double logarithm(const DiagramRow& row) {
  return std::log2(static_cast<double>(row.extent->elements()));
}

std::string parameters_text(const DiagramRow& row) {
  return row.parameters ? with_thousands(*row.parameters) : kUnknown;
}

std::string flops_text(const DiagramRow& row) {
  return row.flops ? si_number(*row.flops) : kUnknown;
}

std::string flops_tip(const DiagramRow& row) {
  if (row.flops) return "";
  return row.part == DiagramPart::head ? "The formulas of a network leave the head out." : "Not known yet.";
}

std::string kept_text(const DiagramRow& row) {
  return row.kept ? bytes_text(static_cast<double>(*row.kept)) : kUnknown;
}

std::string extent_tip(const models::Extent& extent) {
  return fmt::format("{} an image: height \u00d7 width \u00d7 channels.",
                     files::counted(extent.elements(), "number"));
}

void draw_numbers(const Frame& frame, Table& table, const DiagramRow& row, const StepTimes& times) {
  const ImU32 color = color_of(frame, row), muted = frame.palette.muted;
  if (row.part == DiagramPart::input) return;
  if (row.part != DiagramPart::rest) {
    table.number(kParameters, parameters_text(row), row.parameters.value_or(0) > 0 ? color : muted);
  }
  table.quantity(kFlops, flops_text(row), row.flops.value_or(0) > 0 ? color : muted, flops_tip(row));
  if (row.kept.value_or(1) == 0 && !row.shares.empty()) {
    table.text(kKept, fmt::format("in {}", row.shares), muted, kept_tip(row));
  } else {
    table.quantity(kKept, kept_text(row), row.kept.value_or(0) > 0 ? color : muted, kept_tip(row));
  }
  const LayerTime* const time = time_of(times, row);
  if (time == nullptr) return;
  const std::string tip = time_tip(*time);
  if (time->covered) {
    table.span_text(kDuration, kPart, fmt::format("in {}", time->within.front()), muted, tip);
    return;
  }
  const bool known = time->microseconds > 0;
  table.number(kDuration, known ? microseconds_text(frame, time->microseconds) : kUnknown,
               known ? color : muted, tip);
  if (!table.shows(kPart)) return;
  table.enter(kPart);
  if (known && times.microseconds > 0) {
    share_cell(frame, {table.cell_min(kPart), table.cell_max(kPart), color},
               {.microseconds = time->microseconds}, times.microseconds);
  } else {
    table.text(kPart, kUnknown, muted);
  }
}

}  // namespace

std::span<const Column> NetworkDiagram::columns() {
  return kColumns;
}

void NetworkDiagram::refresh(const Frame& frame, const models::Model& model) {
  const MemoryScene scene = MemoryScene::of(frame.snapshot);
  if (scene_ == scene) return;
  scene_ = scene;
  diagram_ = diagram_of(model, frame.snapshot.device, scene);
  least_ = most_ = logarithm(diagram_.rows.front());
  for (const DiagramRow& row : diagram_.rows) {
    if (!row.extent) continue;
    least_ = std::min(least_, logarithm(row));
    most_ = std::max(most_, logarithm(row));
  }
}

void NetworkDiagram::draw(const Frame& frame, const models::Model& model) {
  refresh(frame, model);
  const StepTimes times = step_times(model, shown_timings(frame));
  const float row_height = std::max(ImGui::GetFrameHeight(), std::floor(24 * frame.scale));
  // The last row, of the whole step, stands below the others and is in view however long the network is.
  const std::size_t last = diagram_.rows.size() - 1;
  const float wanted = row_height * static_cast<float>(last + 1) + 1;
  // As many whole rows as there is room for.
  const float left = ImGui::GetContentRegionAvail().y - row_height - std::floor(8 * frame.scale);
  const float room = row_height * std::max(2.0f, std::floor(left / row_height)) + 1;
  std::array<Cell, kColumns.size()> cells;
  std::array<bool, kColumns.size()> shown{};
  {
    Table table(frame, "network.layers", kColumns, ImVec2(0, std::min(wanted, room)));
    for (std::size_t row = 0; row < last; ++row) draw_row(frame, table, row, times);
    for (std::size_t column = 0; column < cells.size(); ++column) {
      cells[column] = {table.cell_min(column), table.cell_max(column), frame.palette.text};
      shown[column] = table.shows(column);
    }
  }
  draw_total(frame, cells, shown, times);
  pointed_ = frame.cursor == nullptr ? std::nullopt : std::optional(frame.cursor->output);
  trace(frame, times, cells[kKind].max.x - cells[kKind].min.x);
}

/// Below the table, in line with its columns.
void NetworkDiagram::draw_total(const Frame& frame, std::span<const Cell> cells, std::span<const bool> shown,
                                const StepTimes& times) const {
  const DiagramRow& row = diagram_.rows.back();
  const float s = frame.scale, height = ImGui::GetFrameHeight();
  ImDrawList* const list = ImGui::GetWindowDrawList();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() - ImGui::GetStyle().ItemSpacing.y);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  list->AddRectFilled(at, ImVec2(at.x + width, at.y + hairline(frame)), frame.palette.grid);
  const float baseline = row_baseline(frame, at.y + std::floor(2 * s));
  const auto draw = [&](std::size_t column, const std::string& text) {
    if (!shown[column]) return;
    const std::size_t space = text.rfind(' ');
    const std::string number = text.substr(0, space);
    const std::string unit = space == std::string::npos ? "" : text.substr(space + 1);
    float x = cells[column].max.x;
    if (!unit.empty()) {
      x -= text_width(frame.fonts.small, unit);
      draw_text(list, frame.fonts.small, x, baseline, frame.palette.muted, unit);
      x -= std::floor(4 * s);
    }
    draw_text(list, frame.fonts.numbers, x - text_width(frame.fonts.numbers, number), baseline,
              frame.palette.text, number);
  };
  draw_text(list, frame.fonts.strong, cells[kLayer].min.x, baseline, frame.palette.text, row.name);
  draw(kParameters, parameters_text(row));
  draw(kFlops, flops_text(row));
  draw(kDuration, times.microseconds > 0 ? microseconds_text(frame, times.microseconds) : kUnknown);
  draw(kKept, kept_text(row));
  ImGui::Dummy(ImVec2(width, height));
  trace_item("network.total");
}

void NetworkDiagram::draw_row(const Frame& frame, Table& table, std::size_t index, const StepTimes& times) {
  const DiagramRow& row = diagram_.rows[index];
  const bool seen = table.row();
  const bool is_output = row.part == DiagramPart::input || row.part == DiagramPart::layer;
  const bool pointed = is_output && frame.cursor != nullptr && frame.cursor->output == row.output;
  if (pointed && pointed_ != row.output) {
    table.bring_into_view();
    redraw_at(frame, ImGui::GetTime());
  }
  if (!seen) return;
  if (pointed) table.mark(kPointedLayerOpacity);
  if (is_output) {
    table.span(kFlow, kKept, [&](ImVec2 min, ImVec2 max) {
      ImGui::SetCursorScreenPos(min);
      const std::string name = fmt::format("network.layer.{}", row.name);
      const bool clicked = hit_area(name.c_str(), ImVec2(max.x - min.x, max.y - min.y));
      trace_item(name);
      if (!clicked || frame.cursor == nullptr) return;
      point_at_output(*frame.cursor, row.output);
      pointed_ = row.output;  // it is in view: nothing scrolls
    });
  }
  draw_flow(frame, table, index);
  const ImU32 color = color_of(frame, row);
  table.text(kLayer, row.name, color);
  table.text(kKind, row.kind, frame.palette.muted,
             row.kind.empty() ? "" : models::find_layer_row(row.kind)->summary);
  if (row.extent) table.number(kOutput, extent_text(*row.extent), color, extent_tip(*row.extent));
  draw_numbers(frame, table, row, times);
}

/// Pixels from the axis to the sides of a row's box.
float NetworkDiagram::half_width(const Frame& frame, const DiagramRow& row) const {
  const double part = most_ > least_ ? (logarithm(row) - least_) / (most_ - least_) : 1;
  return std::floor((kLeastBox + (kBoxWidth - kLeastBox) * static_cast<float>(part)) * frame.scale / 2);
}

/// The box of a layer on the line that leads from the input down.
void NetworkDiagram::draw_flow(const Frame& frame, const Table& table, std::size_t index) const {
  const DiagramRow& row = diagram_.rows[index];
  if (row.part == DiagramPart::rest) return;
  const float s = frame.scale;
  const ImVec2 min = table.cell_min(kFlow), max = table.cell_max(kFlow);
  const float axis = std::floor(min.x + (kBoxWidth / 2 + 2) * s), middle = std::floor((min.y + max.y) / 2);
  const bool last = row.part == DiagramPart::head || index + 1 == diagram_.rows.size() ||
                    diagram_.rows[index + 1].part != DiagramPart::layer;
  const bool is_head = row.part == DiagramPart::head;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  // ImGui clips to the column, whose padding above and below would cut the line.
  ImGui::PushClipRect(ImVec2(min.x, list->GetClipRectMin().y), ImVec2(max.x, list->GetClipRectMax().y),
                      false);
  const float half = std::max(0.5f, std::floor(hairline(frame) / 2));
  if (!is_head) {
    list->AddRectFilled(ImVec2(axis - half, row.part == DiagramPart::input ? middle : min.y),
                        ImVec2(axis + half, last ? middle : max.y), frame.palette.muted);
  }
  const float width = half_width(frame, row);
  const float height = std::floor(kBoxHeight / 2 * s);
  const bool pointed = frame.cursor != nullptr && !is_head && frame.cursor->output == row.output;
  const bool learns = row.parameters.value_or(0) > 0;
  const ImU32 back = pointed  ? frame.palette.accent
                     : learns ? blend(frame.palette.text, frame.palette.panel, 0.6f)
                              : blend(frame.palette.text, frame.palette.panel, 0.25f);
  list->AddRectFilled(ImVec2(axis - width, middle - height), ImVec2(axis + width, middle + height), back,
                      2 * s);
  draw_links(frame, min, max, index, axis);
  ImGui::PopClipRect();
}

/// What passes beside a row, leaves it and arrives at it.
void NetworkDiagram::draw_links(const Frame& frame, ImVec2 min, ImVec2 max, std::size_t index,
                                float axis) const {
  const float s = frame.scale, line = std::max(1.0f, std::floor(1.5f * s)),
              middle = std::floor((min.y + max.y) / 2);
  const float beside = axis + std::floor((kBoxWidth / 2 + 4) * s);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  for (const DiagramLink& link : diagram_.links) {
    if (index < link.from || index > link.to) continue;
    const bool lit = frame.cursor != nullptr && (frame.cursor->output == diagram_.rows[link.from].output ||
                                                 frame.cursor->output == diagram_.rows[link.to].output);
    const ImU32 color = lit ? frame.palette.accent : blend(frame.palette.text, frame.palette.panel, 0.5f);
    const float x =
        beside + std::floor((kLane * static_cast<float>(std::min(link.lane, kMostLanes - 1)) + 4) * s);
    const float width = half_width(frame, diagram_.rows[index]);
    const float edge = axis + width + std::floor(2 * s);
    const float top = index == link.from ? middle : min.y, bottom = index == link.to ? middle : max.y;
    list->AddRectFilled(ImVec2(x, top), ImVec2(x + line, bottom), color);
    if (index != link.from && index != link.to) continue;
    const float left = index == link.to ? edge + std::floor(4 * s) : edge;
    list->AddRectFilled(ImVec2(left, middle - std::floor(line / 2)),
                        ImVec2(x + line, middle - std::floor(line / 2) + line), color);
    if (index == link.to) {
      list->AddTriangleFilled(ImVec2(edge, middle), ImVec2(left + s, middle - 4 * s),
                              ImVec2(left + s, middle + 4 * s), color);
    }
  }
}

// For tests: what is pointed at, what is known, and whether all kinds can be read.
void NetworkDiagram::trace(const Frame& frame, const StepTimes& times, float kind_width) {
  if (!trace_enabled()) return;
  const std::size_t output = frame.cursor == nullptr ? 0 : frame.cursor->output;
  const bool there = output < diagram_.rows.size();
  const bool kinds = std::all_of(diagram_.rows.begin(), diagram_.rows.end(), [&](const DiagramRow& row) {
    return text_width(frame.fonts.text, row.kind) <= kind_width;
  });
  std::string now =
      fmt::format("\"view\":\"layers\",\"rows\":{},\"links\":{},\"output\":{},\"timed\":{},\"kinds\":{}",
                  diagram_.rows.size(), diagram_.links.size(),
                  json_string(there ? diagram_.rows[output].name : ""), times.microseconds > 0, kinds);
  trace_change(traced_, "network", now);
}

}  // namespace warpscope::ui
