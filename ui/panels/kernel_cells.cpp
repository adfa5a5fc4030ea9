#include "ui/panels/kernel_cells.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr const char* kUnknown = "\u2014";

bool on_gpu(const Frame& frame) {
  return frame.snapshot.device.kind == core::DeviceKind::cuda;
}

/// The cell as an ImGui item; true while the pointer is on it.
bool item(const Cell& cell) {
  ImGui::SetCursorScreenPos(cell.min);
  ImGui::Dummy(ImVec2(cell.max.x - cell.min.x, cell.max.y - cell.min.y));
  return ImGui::IsItemHovered();
}

float baseline(const Frame& frame, const Cell& cell) {
  return row_baseline(frame, std::floor((cell.min.y + cell.max.y - ImGui::GetFrameHeight()) / 2));
}

/// A number at the right edge `right`; a dash if it is not known.
void number_left_of(const Frame& frame, const Cell& cell, float right, const std::string& text, ImU32 color) {
  const std::string& shown = text.empty() ? kUnknown : text;
  const ImFont* font = frame.fonts.numbers;
  float width = text_width(font, shown);
  if (width > right - cell.min.x) {
    font = frame.fonts.small;
    width = text_width(font, shown);
  }
  draw_text(ImGui::GetWindowDrawList(), font, right - width, baseline(frame, cell),
            text.empty() ? frame.palette.muted : color, shown);
}

/// Of a ratio in words, with what stands between it and its neighbours.
float words_width(const Frame& frame) {
  return std::ceil(text_width(frame.fonts.small, "88.8\u00d7 the time") + 12 * frame.scale);
}

/// True if a was_cell() of this width has room for the words.
bool has_words(const Frame& frame, float cell_width) {
  return cell_width >= words_width(frame) + std::floor(56 * frame.scale);
}

/// Draws "0.25x the time" at the right of a was_cell(); in colour only what is beyond the noise.
void draw_change(const Frame& frame, const Cell& cell, const TimeChange& change) {
  const float width = cell.max.x - cell.min.x;
  const float left = cell.max.x - ratio_width(frame, width) + std::floor(8 * frame.scale);
  const ImU32 color = change.difference == training::Difference::less   ? frame.palette.good
                      : change.difference == training::Difference::more ? frame.palette.error
                                                                        : frame.palette.muted;
  const std::string text = change_text(change, !has_words(frame, width));
  const float last = cell.max.x - 4 * frame.scale - text_width(frame.fonts.small, text);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, std::min(left, last), baseline(frame, cell), color,
            text);
}

}  // namespace

KernelColumns kernel_columns(const char* unit) {
  return {{
      {.label = "operation",
       .tip = "In the order of launch; click to sort so.",
       .width = 152,
       .sort = Column::Sort::ascending},
      {.label = "variant", .tip = "", .width = 120},
      {.label = "\u00b5s",
       .tip =
           "Microseconds of each op in one training step: the median of the newest sampled steps, timed on "
           "the device. Click to sort by it; rows then stay where they are until the next click.",
       .width = 72,
       .right = true,
       .sort = Column::Sort::descending},
      {.label = "share", .tip = "", .width = 64, .rank = 1},
      {.label = unit,
       .tip = "Floating-point operations a second: the operation's formula over time, even where a variant "
              "needs fewer; of products, those of all that the call covers.",
       .width = 56,
       .right = true,
       .rank = 3},
      {.label = "GB/s",
       .tip = "10^9 bytes a second: the least that the operation must move, over time.",
       .width = 56,
       .right = true,
       .rank = 4},
      {.label = "was, \u00b5s",
       .tip = "The time before the last switch of this op, and what part of it the time now is; \"-\" where "
              "the two "
              "were not measured alike.",
       .width = 104,
       .rank = 2},
  }};
}

float share_number_width(const Frame& frame) {
  return std::floor(50 * frame.scale);
}

float ratio_width(const Frame& frame, float cell_width) {
  return has_words(frame, cell_width) ? words_width(frame) : std::floor(56 * frame.scale);
}

const char* rate_unit(const Frame& frame) {
  return on_gpu(frame) ? "TFLOP/s" : "GFLOP/s";
}

std::string microseconds_text(const Frame& frame, double microseconds) {
  return with_thousands(microseconds, microseconds < (on_gpu(frame) ? 1e4 : 10) ? 1 : 0);
}

void time_cell(const Frame& frame, const Cell& cell, const KernelCost& cost) {
  const bool known = cost.microseconds > 0;
  number_left_of(frame, cell, cell.max.x, known ? microseconds_text(frame, cost.microseconds) : "",
                 cell.color);
  if (!item(cell)) return;
  tooltip(frame,
          known ? fmt::format(
                      "Microseconds in one training step: the median of the last sampled steps ({} so far), "
                      "timed on the device with events around each launch; layers added up.",
                      cost.samples)
                : std::string("Not measured yet: no step has been sampled as it runs now."));
}

void share_cell(const Frame& frame, const Cell& cell, const KernelCost& cost, double step_microseconds) {
  const bool known = cost.microseconds > 0 && step_microseconds > 0;
  const double part = known ? cost.microseconds / step_microseconds : 0;
  const float number = share_number_width(frame);
  number_left_of(frame, cell, cell.min.x + number, known ? fmt::format("{:.1f}%", 100 * part) : "",
                 cell.color);
  const float left = cell.min.x + number + std::floor(8 * frame.scale);
  if (cell.max.x - left >= 16 * frame.scale) {
    const float height = std::floor(8 * frame.scale);
    const float top = std::floor((cell.min.y + cell.max.y - height) / 2);
    ImDrawList* const list = ImGui::GetWindowDrawList();
    list->AddRectFilled(ImVec2(left, top), ImVec2(cell.max.x, top + height), frame.palette.grid);
    const float end = left + std::round((cell.max.x - left) * static_cast<float>(std::min(part, 1.0)));
    list->AddRectFilled(ImVec2(left, top), ImVec2(end, top + height), frame.palette.accent);
  }
  if (item(cell)) tooltip(frame, "Part of the sum of all ops of the step.");
}

void rate_cell(const Frame& frame, const Cell& cell, const KernelCost& cost) {
  const double rate = on_gpu(frame) ? cost.teraflops() : 1000 * cost.teraflops();
  number_left_of(frame, cell, cell.max.x, rate > 0 ? with_thousands(rate, 2) : "", cell.color);
  if (!item(cell)) return;
  tooltip(frame,
          cost.flops > 0
              ? fmt::format(
                    "10^{} floating-point operations a second: {}FLOP by the operation's formula, divided by "
                    "the time. A multiply-add counts as two.",
                    on_gpu(frame) ? 12 : 9, si_number(cost.flops))
              : std::string("This operation moves data and computes nothing that is counted."));
}

void bandwidth_cell(const Frame& frame, const Cell& cell, const KernelCost& cost) {
  const double rate = cost.gigabytes();
  number_left_of(frame, cell, cell.max.x, rate > 0 ? with_thousands(rate, on_gpu(frame) ? 0 : 2) : "",
                 cell.color);
  if (!item(cell)) return;
  tooltip(
      frame,
      fmt::format("10^9 bytes a second: {}, the least the operation can move (each operand read or written "
                  "once), divided by the time. A variant that reads operands more than once moves more.",
                  bytes_text(cost.bytes)));
}

void was_cell(const Frame& frame, const Cell& cell, const KernelCost& cost, const TimeChange& change,
              std::string_view previous) {
  const bool known = cost.previous_microseconds > 0;
  if (!known) return;
  const float right = cell.max.x - ratio_width(frame, cell.max.x - cell.min.x);
  number_left_of(frame, cell, right, microseconds_text(frame, cost.previous_microseconds),
                 frame.palette.muted);
  draw_change(frame, cell, change);
  if (!item(cell)) return;
  tooltip(frame,
          fmt::format("Microseconds before the last switch{}{}, and what part of them the time now is.\n{}",
                      previous.empty() ? "" : ", with ", previous, change.tip));
}

}  // namespace warpscope::ui
