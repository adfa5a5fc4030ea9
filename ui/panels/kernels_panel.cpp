#include "ui/panels/kernels_panel.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/panels/kernel_cells.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

// Design pixels: the least that each column needs, what suits it, and how far it grows where there is room.
struct Width {
  float least;
  float good;
  float most;
};
constexpr std::array<Width, 7> kWidths{{{152, 188, 216},
                                        {120, 128, 168},
                                        {68, 72, 96},
                                        {50, 90, 240},
                                        {56, 60, 80},
                                        {52, 56, 72},
                                        {104, 132, 160}}};
constexpr float kGap = 6;

const KernelRow& row_of(const std::vector<KernelRow>& rows, ops::Op op) {
  return *std::find_if(rows.begin(), rows.end(), [op](const KernelRow& row) { return row.op == op; });
}

Cell cell_of(ImVec2 origin, float left, float right, float height, ImU32 color) {
  return {ImVec2(origin.x + left, origin.y), ImVec2(origin.x + right, origin.y + height), color};
}

// All names in one size: the smaller one where the column has too little room for the longest.
const ImFont* name_font(const Frame& frame, float column) {
  const std::string_view longest = ops::to_string(ops::Op::conv2d_backward_weights);
  const bool fits = text_width(frame.fonts.text, longest) + std::floor(16 * frame.scale) <= column;
  return fits ? frame.fonts.text : frame.fonts.small;
}

std::string op_tip(const KernelRow& row) {
  std::string tip = fmt::format("{}: {}.", ops::to_string(row.op), ops::contract(row.op).summary);
  if (row.layers.size() == 1) {
    tip += fmt::format("\n{}", ops::describe(row.op, row.layers.front()->shape));
  } else {
    tip += fmt::format("\n{} launches a step; click to list the layers.", row.layers.size());
  }
  return tip;
}

// Makes room for a row that is scrolled out of view, and tells so. An open menu needs its row wherever that is.
bool skip_hidden_row(ImVec2 origin, ImVec2 end) {
  const bool menu_open =
      ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  if (menu_open || ImGui::IsRectVisible(origin, end)) return false;
  ImGui::Dummy(ImVec2(end.x - origin.x, end.y - origin.y));
  ImGui::SetCursorScreenPos(ImVec2(origin.x, end.y));
  return true;
}

}  // namespace

KernelsPanel::Edges KernelsPanel::edges(const Frame& frame, float room) {
  const float s = frame.scale;
  float spare = room / s - kGap * (kColumns - 1);
  float first_growth = 0;
  float later_growth = 0;
  for (const Width& width : kWidths) {
    spare -= width.least;
    first_growth += width.good - width.least;
    later_growth += width.most - width.good;
  }
  // Each column takes a fair part of what is spare, so that all grow together.
  const float first = std::clamp(spare / first_growth, 0.0f, 1.0f);
  const float later = std::clamp((spare - first_growth) / later_growth, 0.0f, 1.0f);
  Edges result;
  float x = 0;
  for (std::size_t column = 0; column < kColumns; ++column) {
    const Width& range = kWidths[column];
    const float width = range.least + first * (range.good - range.least) + later * (range.most - range.good);
    result.left[column] = std::floor(x * s);
    result.right[column] = std::floor((x + width) * s);
    x += width + kGap;
  }
  result.width = result.right[kWas];
  return result;
}

void KernelsPanel::keep_order(const std::vector<KernelRow>& rows) {
  std::vector<ops::Op> launched = ops_by_launch(rows);
  sort_ = sort_ || !std::is_permutation(launched.begin(), launched.end(), order_.begin(), order_.end());
  if (!sort_) return;
  order_ = by_time_ ? ops_by_time(rows) : std::move(launched);
  // Sorting by times that are not there yet is done again when they are.
  sort_ = by_time_ && !step_cost(rows).complete;
}

void KernelsPanel::draw(const Frame& frame, const profiling::LaboratoryState& laboratory) {
  const std::vector<KernelRow> rows = kernel_rows(frame.snapshot.timings);
  const StepCost step = step_cost(rows);
  keep_order(rows);
  menus_.update(frame, rows);

  const std::string sampled = fmt::format("{} steps sampled", with_thousands(step.cost.samples));
  // Beside the tabs there may be no room for it.
  if (step.cost.samples > 0 && text_width(frame.fonts.small, sampled) <= title_room(frame)) {
    caption(frame, sampled);
    tooltip(
        frame,
        "Fewest samples of any operation; each time is the median of its newest ones. Some steps are timed "
        "launch by launch, the others run as one graph without timing.");
  }
  panel_body(frame, false);
  if (rows.empty()) {
    centered_text(frame, "Waiting for the first plan");
    return;
  }
  // One region scrolls to the side with everything, one inside it up and down with the rows alone.
  const float scrollbar = ImGui::GetStyle().ScrollbarSize;
  const Edges edges = KernelsPanel::edges(frame, ImGui::GetContentRegionAvail().x - scrollbar);
  ImGui::BeginChild("kernels.table", ImVec2(0, 0), false, ImGuiWindowFlags_HorizontalScrollbar);
  const float height = kernel_row_height(frame);
  const float rows_height =
      std::max(height, ImGui::GetContentRegionAvail().y - 2 * height - std::floor(12 * frame.scale));
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  draw_header(frame, laboratory, edges, ImVec2(corner.x, corner.y + std::floor(4 * frame.scale)));
  ImGui::BeginChild("kernels.rows", ImVec2(edges.width + scrollbar, rows_height));
  draw_rows(frame, edges, rows, step);
  ImGui::EndChild();
  draw_total(frame, edges, ImGui::GetCursorScreenPos(), step);
  ImGui::EndChild();
}

bool KernelsPanel::header_cell(const Frame& frame, const Line& line, Column column, const char* label,
                               const char* tip) const {
  const bool sorts = column == kOp || column == kTime;
  const bool sorted = sorts && by_time_ == (column == kTime);
  const float height = kernel_row_height(frame);
  const float left = line.origin.x + line.edges.left[column];
  const float right = line.origin.x + line.edges.right[column];
  ImGui::SetCursorScreenPos(ImVec2(left, line.origin.y));
  const std::string name = column == kOp ? "kernels.sort_launch" : "kernels.sort_time";
  bool clicked = false;
  if (sorts) {
    clicked = ImGui::InvisibleButton(name.c_str(), ImVec2(right - left, height));
    trace_item(name);
  } else {
    ImGui::Dummy(ImVec2(right - left, height));
  }
  const bool hovered = sorts && ImGui::IsItemHovered();
  const ImU32 color = sorted ? frame.palette.accent : hovered ? frame.palette.text : frame.palette.muted;
  // A label stands over its numbers, which end at the right of their column or of the column's first part.
  float end = right;
  if (column == kShare) end = left + share_number_width(frame);
  if (column == kWas) end = right - ratio_width(frame, right - left);
  const float x = column == kOp ? left : end - text_width(frame.fonts.small, label);
  const float baseline =
      row_baseline(frame, line.origin.y + std::floor((height - ImGui::GetFrameHeight()) / 2));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float after = advance_text(list, frame.fonts.small, x, baseline, color, label);
  if (sorted) {
    const float icon = std::floor(10 * frame.scale);
    const float icon_left =
        column == kOp ? after + std::floor(4 * frame.scale) : x - icon - std::floor(4 * frame.scale);
    const float middle = std::floor(line.origin.y + height / 2);
    draw_icon(list, Icon::down, ImVec2(icon_left, middle - icon / 2),
              ImVec2(icon_left + icon, middle + icon / 2), color);
  }
  tooltip(frame, tip);
  return clicked;
}

void KernelsPanel::draw_header(const Frame& frame, const profiling::LaboratoryState& laboratory,
                               const Edges& edges, ImVec2 origin) {
  const float height = kernel_row_height(frame);
  const Line line{edges, origin, frame.palette.muted};
  if (header_cell(frame, line, kOp, "operation", "In the order of launch; click to sort so.")) {
    by_time_ = false;
    sort_ = true;
  }
  ImGui::SetCursorScreenPos(ImVec2(origin.x + edges.left[kVariant], origin.y));
  menus_.draw_all(frame, laboratory, edges.right[kVariant] - edges.left[kVariant]);
  if (header_cell(
          frame, line, kTime, "\u00b5s",
          "Microseconds of each op in one training step; click to sort by it. Rows then stay where they are "
          "until the next click.")) {
    by_time_ = true;
    sort_ = true;
  }
  header_cell(frame, line, kShare, "share", "Part of the sum of all ops of the step.");
  header_cell(
      frame, line, kRate, rate_unit(frame),
      "Floating-point operations a second: the operation's formula over time; of a block, the formulas of "
      "its layers, even where a variant needs fewer.");
  header_cell(frame, line, kBandwidth, "GB/s",
              "10^9 bytes a second: the least that the operation must move, over time.");
  header_cell(frame, line, kWas, "was, \u00b5s",
              "The time before the last switch of this op, and the ratio.");
  ImGui::SetCursorScreenPos(ImVec2(origin.x, origin.y + height + std::floor(2 * frame.scale)));
  const float y = origin.y + height;
  ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(origin.x, y), ImVec2(origin.x + edges.width, y + 1),
                                            frame.palette.grid);
}

void KernelsPanel::draw_rows(const Frame& frame, const Edges& edges, const std::vector<KernelRow>& rows,
                             const StepCost& step) {
  for (const ops::Op op : order_) {
    const KernelRow& row = row_of(rows, op);
    ImGui::PushID(static_cast<int>(op));
    draw_row(frame, edges, row, step);
    if (open_.contains(op)) draw_layers(frame, edges, row, step);
    ImGui::PopID();
  }
}

bool KernelsPanel::draw_name(const Frame& frame, const Line& line, const KernelRow& row) {
  const float s = frame.scale;
  const float height = kernel_row_height(frame);
  const std::string name(ops::to_string(row.op));
  const std::string id = fmt::format("kernels.{}.layers", name);
  const float room = line.edges.right[kOp] - line.edges.left[kOp];
  ImGui::SetCursorScreenPos(line.origin);
  const bool clicked = ImGui::InvisibleButton(id.c_str(), ImVec2(room, height));
  trace_item(id);
  const bool hovered = ImGui::IsItemHovered();
  if (hovered) tooltip(frame, op_tip(row));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float icon = std::floor(12 * s);
  const float middle = line.origin.y + height / 2;
  if (row.layers.size() > 1) {
    draw_icon(list, open_.contains(row.op) ? Icon::down : Icon::right,
              ImVec2(line.origin.x, middle - icon / 2), ImVec2(line.origin.x + icon, middle + icon / 2),
              hovered ? frame.palette.text : frame.palette.muted);
  }
  const float baseline =
      row_baseline(frame, line.origin.y + std::floor((height - ImGui::GetFrameHeight()) / 2));
  const ImFont* font = name_font(frame, room);
  draw_text(list, font, line.origin.x + std::floor(16 * s), baseline, frame.palette.text,
            ellipsize(font, name, room - std::floor(16 * s)));
  return clicked;
}

void KernelsPanel::draw_row(const Frame& frame, const Edges& edges, const KernelRow& row,
                            const StepCost& step) {
  const float height = kernel_row_height(frame);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 end(origin.x + edges.width, origin.y + height);
  if (skip_hidden_row(origin, end)) return;
  if (ImGui::IsMouseHoveringRect(origin, end) && ImGui::IsWindowHovered()) {
    ImGui::GetWindowDrawList()->AddRectFilled(origin, end, ImGui::GetColorU32(ImGuiCol_TableRowBgAlt, 2.0f));
  }
  const Line line{edges, origin, frame.palette.text};
  if (draw_name(frame, line, row) && row.layers.size() > 1) {
    if (!open_.erase(row.op)) open_.insert(row.op);
  }
  ImGui::SetCursorScreenPos(ImVec2(origin.x + edges.left[kVariant], origin.y));
  menus_.draw_op(frame, row, edges.right[kVariant] - edges.left[kVariant]);
  draw_numbers(frame, line, row.cost, step, row.previous_variant);
  if (row.cost.absorbed && row.inside) draw_inside(frame, line, *row.inside);
}

void KernelsPanel::draw_inside(const Frame& frame, const Line& line, ops::Op inside) const {
  const Cell cell = cell_of(line.origin, line.edges.left[kTime], line.edges.right[kBandwidth],
                            kernel_row_height(frame), frame.palette.muted);
  const ImVec2 after(line.origin.x, line.origin.y + kernel_row_height(frame));
  const float baseline =
      row_baseline(frame, std::floor((cell.min.y + cell.max.y - ImGui::GetFrameHeight()) / 2));
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.text, cell.min.x + std::floor(12 * frame.scale), baseline,
            cell.color,
            ellipsize(frame.fonts.text, fmt::format("in {}", ops::to_string(inside)),
                      cell.max.x - cell.min.x - std::floor(12 * frame.scale)));
  ImGui::SetCursorScreenPos(cell.min);
  ImGui::Dummy(ImVec2(cell.max.x - cell.min.x, cell.max.y - cell.min.y));
  tooltip(frame,
          fmt::format("Runs inside the launch of {}, whose variant covers it: it has no time of its own.",
                      ops::to_string(inside)));
  ImGui::SetCursorScreenPos(after);
}

void KernelsPanel::draw_numbers(const Frame& frame, const Line& line, const KernelCost& cost,
                                const StepCost& step, std::string_view previous) {
  const auto cell = [&](Column column) {
    return cell_of(line.origin, line.edges.left[column], line.edges.right[column], kernel_row_height(frame),
                   line.color);
  };
  if (!cost.absorbed) {
    time_cell(frame, cell(kTime), cost);
    if (&cost != &step.cost) share_cell(frame, cell(kShare), cost, step.cost.microseconds);
    rate_cell(frame, cell(kRate), cost);
    bandwidth_cell(frame, cell(kBandwidth), cost);
  }
  was_cell(frame, cell(kWas), cost, previous);
  ImGui::SetCursorScreenPos(ImVec2(line.origin.x, line.origin.y + kernel_row_height(frame)));
}

void KernelsPanel::draw_layers(const Frame& frame, const Edges& edges, const KernelRow& row,
                               const StepCost& step) {
  const float height = kernel_row_height(frame);
  for (const training::OpTiming* layer : row.layers) {
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float baseline = row_baseline(frame, origin.y + std::floor((height - ImGui::GetFrameHeight()) / 2));
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const float left = origin.x + std::floor(32 * frame.scale);
    const float after = advance_text(list, name_font(frame, edges.right[kOp]), left, baseline,
                                     frame.palette.muted, layer->layer);
    const float room = origin.x + edges.right[kVariant] - after - std::floor(12 * frame.scale);
    draw_text(list, frame.fonts.small, after + std::floor(12 * frame.scale), baseline, frame.palette.muted,
              ellipsize(frame.fonts.small, ops::describe(layer->op, layer->shape), room));
    const Line line{edges, origin, frame.palette.muted};
    draw_numbers(frame, line, cost_of(*layer), step, layer->previous_variant);
    if (layer->absorbed && row.inside) draw_inside(frame, line, *row.inside);
  }
}

void KernelsPanel::draw_total(const Frame& frame, const Edges& edges, ImVec2 origin, const StepCost& step) {
  const float height = kernel_row_height(frame);
  ImGui::GetWindowDrawList()->AddRectFilled(origin, ImVec2(origin.x + edges.width, origin.y + 1),
                                            frame.palette.grid);
  const ImVec2 row(origin.x, origin.y + std::floor(2 * frame.scale));
  const float baseline = row_baseline(frame, row.y + std::floor((height - ImGui::GetFrameHeight()) / 2));
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.strong, row.x + std::floor(16 * frame.scale), baseline,
            frame.palette.text, "whole step");
  draw_numbers(frame, {edges, row, step.complete ? frame.palette.text : frame.palette.muted}, step.cost, step,
               {});
}

}  // namespace warpscope::ui
