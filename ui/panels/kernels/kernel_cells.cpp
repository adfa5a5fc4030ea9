#include "ui/panels/kernels/kernel_cells.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/messages/running.h"
#include "ui/panels/kernels/ladder_rows.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr const char* kUnknown = "\u2014";

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

/// The width of a ratio in words, with what stands between it and its neighbours.
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

KernelCost sum_of(const std::vector<const training::OpTiming*>& layers) {
  KernelCost sum;
  bool timed = true;
  bool switched = true;
  bool first = true;
  for (const training::OpTiming* layer : layers) {
    sum.previous_microseconds += layer->previous_microseconds;
    sum.previous_spread += layer->previous_spread;
    const bool front = layer == layers.front();
    sum.previous_samples =
        front ? layer->previous_samples : std::min(sum.previous_samples, layer->previous_samples);
    sum.control = front ? layer->control : training::worse_of(sum.control, layer->control);
    switched = switched && layer->previous_microseconds > 0;
    if (layer->covered_by) continue;
    sum.microseconds += layer->microseconds;
    sum.spread += layer->spread;
    sum.flops += layer->flops;
    sum.bytes += layer->bytes;
    sum.samples = first ? layer->samples : std::min(sum.samples, layer->samples);
    timed = timed && layer->microseconds > 0;
    first = false;
  }
  sum.covered = first;
  if (!timed) sum.microseconds = 0;
  if (!switched) sum.previous_microseconds = 0;
  return sum;
}

}  // namespace

KernelCost cost_of(const training::OpTiming& timing) {
  return {timing.microseconds,
          timing.previous_microseconds,
          timing.flops,
          timing.bytes,
          timing.samples,
          timing.covered_by.has_value(),
          timing.spread,
          timing.previous_spread,
          timing.previous_samples,
          timing.control};
}

std::vector<KernelRow> kernel_rows(const std::vector<training::OpTiming>& timings) {
  std::vector<KernelRow> rows;
  for (const training::OpTiming& timing : timings) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const KernelRow& r) { return r.op == timing.op; });
    if (row == rows.end()) {
      rows.emplace_back();
      row = rows.end() - 1;
      row->op = timing.op;
      row->previous_variant = timing.previous_variant;
    }
    row->layers.push_back(&timing);
    if (timing.covered_by) row->covered_by = timing.covered_by->op;
  }
  for (KernelRow& row : rows) row.cost = sum_of(row.layers);
  return rows;
}

bool has_layer(const KernelRow& row, std::string_view layer) {
  return !layer.empty() && std::any_of(row.layers.begin(), row.layers.end(),
                                       [&](const training::OpTiming* one) { return one->layer == layer; });
}

const KernelRow* row_with_layer(const std::vector<KernelRow>& rows, std::string_view layer) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const KernelRow& row) { return has_layer(row, layer); });
  return found == rows.end() ? nullptr : &*found;
}

std::string running_text(const KernelRow& row) {
  return training::running_text(row.layers);
}

bool has_reasons(const KernelRow& row) {
  return std::any_of(row.layers.begin(), row.layers.end(),
                     [](const training::OpTiming* layer) { return !layer->reason.empty(); });
}

std::string reasons_text(const KernelRow& row) {
  std::string text;
  for (const training::OpTiming* layer : row.layers) {
    if (layer->reason.empty()) continue;
    const std::string where = layer->layer.empty() ? "" : layer->layer + ": ";
    text += fmt::format("{}{}{}", text.empty() ? "" : "\n", where, layer->reason);
  }
  return text;
}

KernelCost step_cost(const std::vector<KernelRow>& rows) {
  KernelCost step;
  bool timed = true;
  bool switched = false;
  bool first = true;
  for (const KernelRow& row : rows) {
    const KernelCost& cost = row.cost;
    step.microseconds += cost.microseconds;
    step.previous_microseconds +=
        cost.previous_microseconds > 0 ? cost.previous_microseconds : cost.microseconds;
    step.flops += cost.flops;
    step.bytes += cost.bytes;
    switched = switched || cost.previous_microseconds > 0;
    if (cost.covered) continue;
    step.samples = first ? cost.samples : std::min(step.samples, cost.samples);
    timed = timed && cost.microseconds > 0;
    first = false;
  }
  if (!timed) step.microseconds = 0;
  if (!timed || !switched) step.previous_microseconds = 0;
  return step;
}

TimeChange change_of(const KernelCost& cost) {
  TimeChange change;
  if (cost.previous_microseconds <= 0) return change;
  change.before = cost.previous_microseconds;
  if (cost.covered) {
    change.tip = "Not compared: it runs inside another call now and has no time of its own.";
    return change;
  }
  const training::Compared compared = compare(cost.before(), cost.now(), cost.control);
  change.difference = compared.difference;
  if (compared.doubt != training::Doubt::none) {
    change.tip = doubt_text(compared.doubt, cost.before(), cost.now(), cost.control, "times");
    return change;
  }
  change.ratio = cost.microseconds / cost.previous_microseconds;
  change.tip =
      change.difference == training::Difference::noise
          ? "Within the noise: the two medians are nearer than their samples spread."
          : "Medians of sampled steps, none of them while the laboratory measured; the ops that were "
            "not switched took the same before and after. What it does to whole steps is in the row "
            "above and in Ladder.";
  return change;
}

TimeChange change_of_step(const std::vector<training::LadderEntry>& ladder, const KernelCost& step) {
  TimeChange change;
  if (ladder.size() < 2) return change;
  const training::LadderEntry &before = ladder[ladder.size() - 2], &now = ladder.back();
  if (before.batch != now.batch || now.other_network) {
    change.tip = "Not compared: another batch or network came with the switch.";
    return change;
  }
  // Images a second fall where the time grows.
  const training::Compared compared = compare(now.speed(), before.speed(), now.over_before);
  change.difference = compared.difference;
  if (compared.doubt != training::Doubt::none) {
    change.tip = doubt_text(compared.doubt, before.speed(), now.speed(), now.over_before, "steps");
    return change;
  }
  change.ratio = before.images_per_second / now.images_per_second;
  change.tip =
      fmt::format("Whole steps, as in Ladder: {} images/s before, {} since{}.",
                  with_thousands(before.images_per_second, 0), with_thousands(now.images_per_second, 0),
                  change.difference == training::Difference::noise
                      ? ", which is within the noise: nearer than the steps of each spread"
                      : "");
  if (step.microseconds > 0 && step.previous_microseconds > 0) {
    change.tip +=
        fmt::format("\nIts sampled ops, each launched by itself, add up to {} \u00b5s; {} before.",
                    with_thousands(step.microseconds, 0), with_thousands(step.previous_microseconds, 0));
  }
  return change;
}

std::string change_text(const TimeChange& change, bool brief) {
  if (change.difference == training::Difference::unknown) return "-";
  return brief ? ratio_text(change.ratio) : ratio_text(change.ratio) + " the time";
}

std::vector<ops::Op> ops_by_launch(const std::vector<KernelRow>& rows) {
  std::vector<ops::Op> order;
  for (const KernelRow& row : rows) order.push_back(row.op);
  return order;
}

std::vector<ops::Op> ops_by_time(const std::vector<KernelRow>& rows) {
  std::vector<const KernelRow*> sorted;
  for (const KernelRow& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(), [](const KernelRow* a, const KernelRow* b) {
    return a->cost.microseconds > b->cost.microseconds;
  });
  std::vector<ops::Op> order;
  for (const KernelRow* row : sorted) order.push_back(row->op);
  return order;
}

KernelColumns kernel_columns(const char* unit) {
  return {{
      {.label = "operation",
       .tip = "In the order of launch; click to sort so.",
       .width = 152,
       .sort = Column::Sort::ascending},
      {.label = "variant", .tip = "", .width = 120},
      {.label = "\u00b5s",
       .tip = "Microseconds of each op in one training step: the median of the newest sampled steps, timed "
              "on the device. Click to sort by it; rows then stay where they are until the next click.",
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
              "the two were not measured alike.",
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
  return frame.on_gpu() ? "TFLOP/s" : "GFLOP/s";
}

std::string microseconds_text(const Frame& frame, double microseconds) {
  return with_thousands(microseconds, microseconds < (frame.on_gpu() ? 1e4 : 10) ? 1 : 0);
}

void time_cell(const Frame& frame, const Cell& cell, const KernelCost& cost) {
  const bool known = cost.microseconds > 0;
  number_left_of(frame, cell, cell.max.x, known ? microseconds_text(frame, cost.microseconds) : "",
                 cell.color);
  if (!item(cell)) return;
  tooltip(frame,
          known ? fmt::format("Microseconds in one training step: the median of the last sampled steps ({} "
                              "so far), timed on the device with events around each launch; layers added up.",
                              cost.samples)
                : std::string("Not measured yet: no step has been sampled as it runs now."));
}

void share_cell(const Frame& frame, const Cell& cell, const KernelCost& cost, double step_microseconds) {
  const bool known = cost.microseconds > 0 && step_microseconds > 0;
  const double part = known ? cost.microseconds / step_microseconds : 0;
  const float number = share_number_width(frame);
  number_left_of(frame, cell, cell.min.x + number, known ? fmt::format("{:.1f} %", 100 * part) : "",
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
  const double rate = frame.on_gpu() ? cost.teraflops() : 1000 * cost.teraflops();
  number_left_of(frame, cell, cell.max.x, rate > 0 ? with_thousands(rate, 2) : "", cell.color);
  if (!item(cell)) return;
  tooltip(frame, cost.flops > 0
                     ? fmt::format("10^{} floating-point operations a second: {}FLOP by the operation's "
                                   "formula, divided by the time. A multiply-add counts as two.",
                                   frame.on_gpu() ? 12 : 9, si_number(cost.flops))
                     : std::string("This operation moves data and computes nothing that is counted."));
}

void bandwidth_cell(const Frame& frame, const Cell& cell, const KernelCost& cost) {
  const double rate = cost.gigabytes();
  number_left_of(frame, cell, cell.max.x, rate > 0 ? with_thousands(rate, frame.on_gpu() ? 0 : 2) : "",
                 cell.color);
  if (!item(cell)) return;
  tooltip(
      frame,
      fmt::format("10^9 bytes a second: {}, the least the operation can move (each operand read or written "
                  "once), divided by the time. A variant that reads operands more than once moves more.",
                  bytes_text(cost.bytes)));
}

void was_cell(const Frame& frame, const Cell& cell, const TimeChange& change, std::string_view previous) {
  if (change.tip.empty()) return;
  if (change.before > 0) {
    const float right = cell.max.x - ratio_width(frame, cell.max.x - cell.min.x);
    number_left_of(frame, cell, right, microseconds_text(frame, change.before), frame.palette.muted);
  }
  draw_change(frame, cell, change);
  if (!item(cell)) return;
  if (change.before <= 0) return tooltip(frame, change.tip);
  tooltip(frame,
          fmt::format("Microseconds before the last switch{}{}, and what part of them the time now is.\n{}",
                      previous.empty() ? "" : ", with ", previous, change.tip));
}

}  // namespace warpscope::ui
