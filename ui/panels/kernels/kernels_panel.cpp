#include "ui/panels/kernels/kernels_panel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/presets.h"
#include "ui/frame/kept_views.h"
#include "ui/frame/trace.h"
#include "ui/input/cursor.h"
#include "ui/panels/kernels/own_kernels_rows.h"
#include "ui/panels/menu_choices.h"
#include "ui/panels/selection_text.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// How much of the accent colour lies behind the layer that is pointed at, and behind an op one of whose layers it is.
constexpr float kPointedOpacity = 0.24f, kPointedInsideOpacity = 0.08f;

const KernelRow& row_of(const std::vector<KernelRow>& rows, ops::Op op) {
  return *std::find_if(rows.begin(), rows.end(), [op](const KernelRow& row) { return row.op == op; });
}

// All names in one size: the smaller one where the column has too little room for the longest.
const ImFont* name_font(const Frame& frame, float column) {
  static const std::string_view longest = [] {
    std::string_view name;
    for (const ops::OpContract& contract : ops::contracts()) {
      if (std::string_view(contract.name).size() > name.size()) name = contract.name;
    }
    return name;
  }();
  const bool fits = text_width(frame.fonts.text, longest) + std::floor(16 * frame.scale) <= column;
  return fits ? frame.fonts.text : frame.fonts.small;
}

std::string op_tip(const KernelRow& row) {
  std::string tip = fmt::format("{}: {}.", ops::to_string(row.op), ops::contract(row.op).summary);
  if (row.layers.size() == 1) {
    tip += fmt::format("\n{}", ops::describe(row.op, row.layers.front()->shape));
    if (!row.layers.front()->layer.empty()) tip += "\nClick: all views show this layer.";
  } else {
    tip += fmt::format("\n{} times a step; click to list the layers.", row.layers.size());
  }
  tip += fmt::format("\n{}: {}", row.cost.covered ? "covered" : "runs", running_text(row));
  if (has_reasons(row)) tip.append("\n").append(reasons_text(row));
  return tip;
}

// A dot before the variant: it does not run as one would expect, and the tool-tip says why.
void draw_mark(const Frame& frame, ImVec2 center) {
  ImGui::GetWindowDrawList()->AddCircleFilled(center, std::floor(3 * frame.scale), frame.palette.warning);
}

// Draws a header whose label ends at `right`, where the numbers below it end; a bar or ratio follows them.
void draw_label_left_of(const Frame& frame, const Table& table, std::size_t column, float right,
                        const Column& what) {
  const float x = std::max(table.cell_min(column).x, right - text_width(frame.fonts.small, what.label));
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, x, table.baseline(), frame.palette.muted,
            what.label);
  area_tooltip(frame, table.cell_min(column), table.cell_max(column), heading_tip(what));
}

void draw_numbers(const Frame& frame, Table& table, const KernelCost& cost, const KernelCost& step,
                  ImU32 color, const TimeChange& change, std::string_view previous) {
  const auto draw = [&](std::size_t column, const auto& draw_cell) {
    if (!table.shows(column)) return;
    table.enter(column);
    draw_cell(Cell{table.cell_min(column), table.cell_max(column), color});
  };
  if (!cost.covered) {
    draw(kTime, [&](const Cell& cell) { time_cell(frame, cell, cost); });
    if (&cost != &step)
      draw(kShare, [&](const Cell& cell) { share_cell(frame, cell, cost, step.microseconds); });
    draw(kRate, [&](const Cell& cell) { rate_cell(frame, cell, cost); });
    draw(kBandwidth, [&](const Cell& cell) { bandwidth_cell(frame, cell, cost); });
  }
  draw(kWas, [&](const Cell& cell) { was_cell(frame, cell, change, previous); });
}

// In place of the numbers of an op that the call of `by` covers.
void draw_covered(const Frame& frame, Table& table, ops::Op by) {
  table.span_text(
      kTime, kBandwidth, fmt::format("in {}", ops::to_string(by)), frame.palette.muted,
      fmt::format(
          "The call of {} covers it: it has no time of its own. Choose a variant and it runs by itself.",
          ops::to_string(by)));
}

// Below the header, and in view with it.
void draw_total(const Frame& frame, Table& table, const KernelCost& step) {
  if (!table.row()) return;
  table.enter(kOp);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.strong,
            table.cell_min(kOp).x + std::floor(16 * frame.scale), table.baseline(), frame.palette.text,
            "whole step");
  const bool past = past_times(frame) != nullptr;
  draw_numbers(frame, table, step, step, frame.palette.text,
               past ? TimeChange{} : change_of_step(*frame.snapshot.ladder, step), {});
}

// In place of the menu, which chooses for the training as it is now.
void draw_variant_then(const Frame& frame, const Table& table, const KernelRow& row) {
  const ImVec2 min = table.cell_min(kVariant), max = table.cell_max(kVariant);
  const std::string text = running_text(row);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.text, min.x + std::floor(8 * frame.scale),
            table.baseline(), frame.palette.muted,
            ellipsize(frame.fonts.text, text, max.x - min.x - std::floor(16 * frame.scale)));
  area_tooltip(frame, min, max,
               text + ": what ran at the step shown. Let the step go (Esc) to choose another.");
}

// Beside the tabs, where there may be no room for it.
void draw_samples(const Frame& frame, int samples, bool measuring, bool loaded) {
  std::string text = files::counted(static_cast<std::int64_t>(samples), "step") + " sampled";
  std::string tip =
      "Fewest samples of any operation; each time is the median of its newest ones. Some steps are timed "
      "launch by launch, the others run as one graph without timing.";
  if (measuring) {
    text += ", none now";
    tip += "\nThe laboratory measures: no step is sampled meanwhile.";
  } else if (loaded) {
    text += ", under load";
    tip += "\nA job (features or a map) runs beside the training: these times are longer than without it.";
  }
  if ((samples == 0 && !measuring) || text_width(frame.fonts.small, text) > title_room(frame)) return;
  const bool disturbed = measuring || loaded;
  row_text(frame, frame.fonts.small, disturbed ? frame.palette.warning : frame.palette.muted, text);
  tooltip(frame, tip);
}

bool begin_steering_combo(const Frame& frame, const char* name, const std::string& preview, float width,
                          std::string_view tip) {
  const Steering steering(frame);
  return begin_combo(frame, name, preview, width, tip);
}

}  // namespace

void VariantMenus::update(const Frame& frame, const std::vector<KernelRow>& rows) {
  const training::Snapshot& snapshot = frame.snapshot;
  if (!requested_.empty()) {
    const auto answered = std::find(requested_.begin(), requested_.end(), snapshot.selection);
    if (answered != requested_.end()) {
      requested_.erase(requested_.begin(), answered + 1);
      before_ = snapshot.selection;
    } else if (snapshot.notice_id != notice_id_ || snapshot.selection != before_) {
      requested_.clear();  // refused, or somebody else has chosen
    }
  }
  for (const KernelRow& row : rows) {
    if (row.cost.microseconds <= 0 || row.covered_by) continue;
    measured_[{row.op, row.layers.front()->variant, snapshot.selection.precision, snapshot.settings->batch}] =
        row.cost.microseconds;
  }
}

const plan::Selection& VariantMenus::coming(const Frame& frame) const {
  return requested_.empty() ? frame.snapshot.selection : requested_.back();
}

void VariantMenus::request(const Frame& frame, plan::Selection selection) {
  if (selection == coming(frame)) return;
  if (requested_.empty()) {
    before_ = frame.snapshot.selection;
    notice_id_ = frame.snapshot.notice_id;
  }
  requested_.push_back(selection);
  frame.send(training::Select{std::move(selection)});
}

std::string VariantMenus::measured(const Frame& frame, ops::Op op, const std::string& variant) const {
  const auto found = measured_.find({op, variant, coming(frame).precision, frame.snapshot.settings->batch});
  return found == measured_.end() ? std::string() : microseconds_text(frame, found->second) + " \u00b5s";
}

void VariantMenus::draw_op(const Frame& frame, const KernelRow& row, float width) {
  const std::string name = fmt::format("kernels.{}", ops::to_string(row.op));
  const plan::Machine machine = machine_of(frame.snapshot);
  const plan::Selection selection = coming(frame);  // a copy: a request makes it another
  const auto choice_in = [&](const plan::Selection& in) {
    const auto found = in.variants.find(row.op);
    return found == in.variants.end() ? std::string(plan::kAutomatic) : found->second;
  };
  const std::string current = choice_in(selection);
  const bool automatic = current == plan::kAutomatic;
  const bool waiting = choice_in(frame.snapshot.selection) != current;
  const std::string running = running_text(row);
  const std::string preview = waiting                               ? current + " ..."
                              : row.cost.covered || running.empty() ? current
                                                                    : running;
  std::string tip = waiting     ? "The trainer is preparing this variant; the one before it still runs."
                    : automatic ? fmt::format("automatic: {}", running)
                                : fmt::format("chosen: {}", running);
  const ops::Variant* variant = ops::find_variant(machine.variants, row.op, machine.device.kind, current);
  if (!waiting && variant != nullptr) tip += fmt::format("\n{}", variant_tip(*variant));
  // Sixteen buttons in a column would be louder than the numbers beside them.
  ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetColorU32(ImGuiCol_Button, 0.4f));
  const bool open = begin_steering_combo(frame, name.c_str(), preview, width, tip);
  ImGui::PopStyleColor();
  if (!open) return;
  const std::string meaning = automatic_text(row, selection, machine);
  if (combo_item(frame, fmt::format("{}={}", name, plan::kAutomatic).c_str(), "automatic", automatic,
                 meaning)) {
    request(frame, with_variant(selection, row.op, plan::kAutomatic));
  }
  tooltip(frame,
          "The best variant that fits, or none where the call of another operation covers this one. Takes "
          "the choice back.");
  for (const ops::Variant* choice : ops::variants_of(machine.variants, row.op, machine.device.kind)) {
    const std::string item = fmt::format("{}={}", name, choice->name);
    const std::string reason = variant_refusal(*choice, machine.device, selection.precision, row.layers);
    if (combo_item(frame, item.c_str(), choice->name.c_str(), choice->name == current,
                   measured(frame, row.op, choice->name), reason)) {
      request(frame, with_variant(selection, row.op, choice->name));
    }
    const char* const when =
        choice->name != current && !measured(frame, row.op, choice->name).empty()
            ? "\nIts time is of when it ran last: the machine may have been busier then, or less busy."
            : "";
    tooltip(frame, variant_tip(*choice) + when);
  }
  if (combo_item(frame, (name + "=new").c_str(), "Write your own...", false, {},
                 why_no_loading(frame.snapshot)))
    new_kernel_ = row.op;
  end_combo();
}

const std::string& VariantMenus::word(const plan::Selection& selection, const plan::Machine& machine) {
  if (word_.empty() || !(word_of_ == selection)) {
    word_of_ = selection;
    word_ = selection_word(selection, machine);
  }
  return word_;
}

void VariantMenus::draw_presets(const Frame& frame, const plan::Selection& selection) {
  const plan::Machine machine = machine_of(frame.snapshot);
  for (const plan::Preset& preset : plan::presets(machine.device.kind)) {
    const std::string reason = plan::preset_unavailable_reason(preset.id, machine, selection.precision);
    const plan::Selection chosen =
        reason.empty() ? plan::preset_selection(preset.id, machine, selection.precision) : plan::Selection();
    if (combo_item(frame, fmt::format("kernels.all={}", preset.id).c_str(), preset.label,
                   reason.empty() && chosen == selection, {}, reason)) {
      request(frame, chosen);
    }
    if (reason.empty()) tooltip(frame, preset.summary);
  }
}

void VariantMenus::draw_all(const Frame& frame, const jobs::LaboratoryState& laboratory, float width) {
  const plan::Machine machine = machine_of(frame.snapshot);
  if (!begin_steering_combo(
          frame, "kernels.all", "all: " + word(coming(frame), machine), width,
          "Switches every operation at once. Operations that lack what a preset prefers are automatic.")) {
    return;
  }
  const plan::Selection selection = coming(frame);     // a copy: a request makes it another
  if (machine.device.kind == core::DeviceKind::cpu) {  // on a GPU it is the preset "fastest"
    const plan::Selection none{selection.precision, {}};
    if (combo_item(frame, "kernels.all=automatic", "automatic", selection == none)) request(frame, none);
    tooltip(
        frame,
        "For every operation the best variant that fits, or the call of another operation that covers it.");
  }
  const std::string reason = fastest_here_refusal(laboratory, frame.snapshot);
  const profiling::Advice* const advice = advice_of(laboratory, frame.snapshot.selection.precision);
  const plan::Selection fastest = reason.empty() ? advice->best : plan::Selection();
  if (combo_item(frame, "kernels.all=fastest_here", "fastest here", reason.empty() && selection == fastest,
                 reason.empty() ? time_of_day(*advice) : std::string(), reason)) {
    request(frame, fastest);
  }
  if (reason.empty()) {
    tooltip(frame, verdict_text(*advice, selection_word(advice->present, machine)) +
                       ". Whole steps of both were timed in turns.");
  }
  draw_presets(frame, selection);
  end_combo();
}

KernelsPanel::KernelsPanel(const models::Model& model)
    : model_(model), layer_(model.layers.empty() ? "" : model.layers.front().name) {}

void KernelsPanel::follow(const models::Model& model) {
  model_ = model;
  if (models::index_of(model, layer_) == model.layers.size()) {
    layer_ = model.layers.empty() ? "" : model.layers.front().name;
  }
  scroll_to_.reset();
  sort_ = true;
}

void KernelsPanel::follow_layer(const Frame& frame, const std::vector<KernelRow>& rows) {
  const std::string_view layer = pointed_layer(frame, model_);
  if (layer == layer_) return;
  layer_ = layer;
  scroll_to_.reset();
  const KernelRow* const row = row_with_layer(rows, layer_);
  if (row == nullptr) return;
  scroll_to_ = row->op;
  if (row->layers.size() > 1) open_.insert(row->op);
}

void KernelsPanel::choose_layer(const Frame& frame, const std::string& layer) {
  if (layer.empty() || frame.cursor == nullptr) return;
  point_at_layer(frame, model_, layer);
  layer_ = pointed_layer(frame, model_);  // it is in view: nothing scrolls
}

void KernelsPanel::keep_order(const std::vector<KernelRow>& rows) {
  std::vector<ops::Op> launched = ops_by_launch(rows);
  sort_ = sort_ || !std::is_permutation(launched.begin(), launched.end(), order_.begin(), order_.end());
  if (!sort_) return;
  order_ = by_time_ ? ops_by_time(rows) : std::move(launched);
  // While some times are missing, the rows are sorted again once they are there.
  sort_ = by_time_ && step_cost(rows).microseconds <= 0;
}

void KernelsPanel::draw(const Frame& frame, const jobs::LaboratoryState& laboratory, bool loaded) {
  std::vector<KernelRow> rows = kernel_rows(frame.snapshot.timings);
  menus_.update(frame, rows);
  if (past_times(frame) != nullptr) rows = kernel_rows(shown_timings(frame));
  const KernelCost step = step_cost(rows);

  draw_samples(frame, step.samples, laboratory.running != jobs::Job::none, loaded);
  panel_body(frame, false);
  if (rows.empty()) {
    centered_text(frame, "No kernels yet: the training is being prepared.");
    return;
  }
  follow_layer(frame, rows);
  draw_table(frame, laboratory, rows, step);
  trace(frame);
}

// For tests: the layer that is pointed at, and the ops whose layers are listed.
void KernelsPanel::trace(const Frame& frame) {
  if (!trace_enabled()) return;
  const CallTimes* const past = past_times(frame);
  const std::string step = past == nullptr ? "null" : fmt::format("{}", past->step);
  std::string open;
  for (const ops::Op op : open_) {
    if (!open.empty()) open += ',';
    open += json_string(ops::to_string(op));
  }
  std::string now = fmt::format("\"layer\":{},\"open\":[{}],\"step\":{}", json_string(layer_), open, step);
  trace_change(traced_, "kernels", now);
}

void KernelsPanel::sort_by(int column) {
  if (column < 0) return;
  by_time_ = column == static_cast<int>(kTime);
  sort_ = true;
}

void KernelsPanel::draw_table(const Frame& frame, const jobs::LaboratoryState& laboratory,
                              const std::vector<KernelRow>& rows, const KernelCost& step) {
  const KernelColumns columns = kernel_columns(rate_unit(frame));
  // Called by the table's constructor, when the places of the columns are known.
  const auto header_cell = [&](const Table& table, std::size_t column) {
    const float left = table.cell_min(column).x, right = table.cell_max(column).x;
    if (column == kVariant) {
      menus_.draw_all(frame, laboratory, right - left);
    } else if (column == kShare) {
      draw_label_left_of(frame, table, column, left + share_number_width(frame), columns[column]);
    } else if (column == kWas) {
      draw_label_left_of(frame, table, column, right - ratio_width(frame, right - left), columns[column]);
    } else {
      return false;
    }
    return true;
  };
  Table table(frame, "kernels.table", columns, {0, 0}, 2, header_cell);
  table.enter(kOp);
  trace_rectangle("kernels.sort_launch", table.cell_min(kOp), table.cell_max(kOp));
  table.enter(kTime);
  trace_rectangle("kernels.sort_time", table.cell_min(kTime), table.cell_max(kTime));
  sort_by(table.newly_sorted());
  keep_order(rows);
  draw_total(frame, table, step);
  for (const ops::Op op : order_) {
    const KernelRow& row = row_of(rows, op);
    ImGui::PushID(static_cast<int>(op));
    draw_row(frame, table, row, step);
    if (open_.contains(op)) draw_layers(frame, table, row, step);
    ImGui::PopID();
  }
}

bool KernelsPanel::draw_name(const Frame& frame, Table& table, const KernelRow& row) const {
  const float s = frame.scale;
  const std::string name(ops::to_string(row.op));
  const std::string id = fmt::format("kernels.{}.layers", name);
  table.enter(kOp);
  const ImVec2 min = table.cell_min(kOp), max = table.cell_max(kOp);
  ImGui::SetCursorScreenPos(min);
  const bool clicked = hit_area(id.c_str(), ImVec2(max.x - min.x, max.y - min.y));
  trace_item(id);
  const bool hovered = ImGui::IsItemHovered();
  if (hovered) tooltip(frame, op_tip(row));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float icon = std::floor(12 * s), middle = std::floor((min.y + max.y) / 2);
  if (row.layers.size() > 1) {
    draw_icon(list, open_.contains(row.op) ? Icon::down : Icon::right, ImVec2(min.x, middle - icon / 2),
              ImVec2(min.x + icon, middle + icon / 2), hovered ? frame.palette.text : frame.palette.muted);
  }
  const bool marked = has_reasons(row);
  if (marked) draw_mark(frame, ImVec2(max.x - std::floor(6 * s), middle));
  const float left = min.x + std::floor(16 * s);
  const ImFont* const font = name_font(frame, max.x - min.x);
  const float room = max.x - left - std::floor((marked ? 12 : 0) * s);
  draw_text(list, font, left, table.baseline(), frame.palette.text, ellipsize(font, name, room));
  return clicked;
}

bool KernelsPanel::draw_layer_name(const Frame& frame, Table& table, const training::OpTiming& layer) const {
  bool clicked = false;
  table.span(kOp, kWas, [&](ImVec2 min, ImVec2 max) {
    const std::string id = fmt::format("kernels.{}.{}", ops::to_string(layer.op), layer.layer);
    ImGui::SetCursorScreenPos(min);
    clicked = hit_area(id.c_str(), ImVec2(max.x - min.x, max.y - min.y));
    trace_item(id);
  });
  table.span(kOp, kVariant, [&](ImVec2 min, ImVec2 max) {
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const float column = table.cell_max(kOp).x - min.x;
    const float after =
        advance_text(list, name_font(frame, column), min.x + std::floor(32 * frame.scale), table.baseline(),
                     layer.layer == layer_ ? frame.palette.text : frame.palette.muted, layer.layer);
    const float left = after + std::floor(12 * frame.scale);
    draw_text(list, frame.fonts.small, left, table.baseline(), frame.palette.muted,
              ellipsize(frame.fonts.small, ops::describe(layer.op, layer.shape), max.x - left));
    area_tooltip(frame, min, max, "Click: all views show this layer.");
  });
  return clicked;
}

void KernelsPanel::draw_layers(const Frame& frame, Table& table, const KernelRow& row,
                               const KernelCost& step) {
  for (const training::OpTiming* layer : row.layers) {
    const bool seen = table.row(), pointed = !layer->layer.empty() && layer->layer == layer_;
    if (pointed && scroll_to_ == row.op) {
      table.bring_into_view();
      scroll_to_.reset();
      redraw_at(frame, ImGui::GetTime());
    }
    if (!seen) continue;
    if (pointed) table.mark(kPointedOpacity);
    if (draw_layer_name(frame, table, *layer)) choose_layer(frame, layer->layer);
    const KernelCost cost = cost_of(*layer);
    draw_numbers(frame, table, cost, step, frame.palette.muted, change_of(cost), layer->previous_variant);
    if (layer->covered_by) draw_covered(frame, table, layer->covered_by->op);
  }
}

void KernelsPanel::draw_row(const Frame& frame, Table& table, const KernelRow& row, const KernelCost& step) {
  // An open menu needs its row even where that is scrolled out of view.
  const bool menu_open =
      ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  const bool seen = table.row(), single = row.layers.size() == 1;
  if (single && scroll_to_ == row.op) {
    table.bring_into_view();
    scroll_to_.reset();
    redraw_at(frame, ImGui::GetTime());
  }
  if (!seen && !menu_open) return;
  if (seen && has_layer(row, layer_)) table.mark(single ? kPointedOpacity : kPointedInsideOpacity);
  if (draw_name(frame, table, row)) {
    if (single) {
      choose_layer(frame, row.layers.front()->layer);
    } else if (!open_.erase(row.op)) {
      open_.insert(row.op);
    }
  }
  table.enter(kVariant);
  const float left = table.cell_min(kVariant).x, right = table.cell_max(kVariant).x;
  ImGui::SetCursorScreenPos(table.cell_min(kVariant));
  if (past_times(frame) != nullptr) {
    draw_variant_then(frame, table, row);
  } else {
    menus_.draw_op(frame, row, right - left);
  }
  draw_numbers(frame, table, row.cost, step, frame.palette.text, change_of(row.cost), row.previous_variant);
  if (row.cost.covered && row.covered_by) draw_covered(frame, table, *row.covered_by);
}

}  // namespace warpscope::ui
