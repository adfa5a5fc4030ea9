#include "ui/panels/variant_menus.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/ops/variant.h"
#include "gpu/plan/presets.h"
#include "ui/panels/kernel_cells.h"
#include "ui/panels/menu_choices.h"
#include "ui/panels/selection_text.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

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
  tooltip(
      frame,
      "The best variant that fits, or none where the call of another operation covers this one. Takes the "
      "choice back.");
  for (const ops::Variant* choice : ops::variants_of(machine.variants, row.op, machine.device.kind)) {
    const std::string item = fmt::format("{}={}", name, choice->name);
    const std::string reason = variant_refusal(*choice, machine.device, selection.precision, row.layers);
    if (combo_item(frame, item.c_str(), choice->name.c_str(), choice->name == current,
                   measured(frame, row.op, choice->name), reason)) {
      request(frame, with_variant(selection, row.op, choice->name));
    }
    tooltip(frame, variant_tip(*choice));
  }
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

}  // namespace warpscope::ui
