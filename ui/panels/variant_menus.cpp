#include "ui/panels/variant_menus.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/variant.h"
#include "ui/panels/kernel_cells.h"
#include "ui/panels/selection_text.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

/// Why `variant` cannot run every layer of `row` here, or "".
std::string refusal(const Frame& frame, const ops::Variant& variant, const KernelRow& row,
                    core::Precision precision) {
  for (const training::OpTiming* layer : row.layers) {
    const std::string reason =
        ops::unavailable_reason(variant, frame.snapshot.device, precision, &layer->shape);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::string item_tip(const ops::Variant& variant) {
  return variant.deterministic ? variant.summary
                               : variant.summary + " Not deterministic: two runs differ in the last bits.";
}

/// `selection` with `name` for every op of `rows` that can run it.
plan::Selection with_all(const Frame& frame, const plan::Selection& selection,
                         const std::vector<KernelRow>& rows, const std::string& name) {
  plan::Selection changed = selection;
  plan::apply(changed, "all=" + name, frame.snapshot.device);
  for (const KernelRow& row : rows) {
    const ops::Variant* variant = ops::find_variant(row.op, frame.snapshot.device.kind, name);
    if (variant == nullptr || refusal(frame, *variant, row, selection.precision).empty()) continue;
    const auto old = selection.variants.find(row.op);
    if (old != selection.variants.end()) changed.variants[row.op] = old->second;
  }
  return changed;
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
    if (row.cost.microseconds <= 0) continue;
    measured_[{row.op, row.layers.front()->variant, snapshot.selection.precision, snapshot.batch}] =
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
  const auto found = measured_.find({op, variant, coming(frame).precision, frame.snapshot.batch});
  return found == measured_.end() ? std::string() : microseconds_text(frame, found->second) + " \u00b5s";
}

void VariantMenus::draw_op(const Frame& frame, const KernelRow& row, float width) {
  const std::string name = fmt::format("kernels.{}", ops::to_string(row.op));
  const plan::Selection selection = coming(frame);
  const auto chosen = selection.variants.find(row.op);
  const std::string current = chosen == selection.variants.end() ? "-" : chosen->second;
  const auto used = frame.snapshot.selection.variants.find(row.op);
  const bool waiting = used != frame.snapshot.selection.variants.end() && used->second != current;
  const ops::Variant* variant = ops::find_variant(row.op, frame.snapshot.device.kind, current);
  const std::string tip = waiting ? "The trainer is preparing this variant; the one before it still runs."
                          : variant == nullptr ? std::string()
                                               : item_tip(*variant);
  // Sixteen buttons in a column would be louder than the numbers beside them.
  ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetColorU32(ImGuiCol_Button, 0.4f));
  const bool open = begin_combo(frame, name.c_str(), waiting ? current + " ..." : current, width, tip);
  ImGui::PopStyleColor();
  if (!open) return;
  for (const ops::Variant* choice : ops::variants_of(row.op, frame.snapshot.device.kind)) {
    const std::string item = fmt::format("{}={}", name, choice->name);
    const std::string reason = refusal(frame, *choice, row, selection.precision);
    if (combo_item(frame, item.c_str(), choice->name.c_str(), choice->name == current,
                   measured(frame, row.op, choice->name), reason)) {
      plan::Selection changed = selection;
      changed.variants[row.op] = choice->name;
      request(frame, std::move(changed));
      break;
    }
    tooltip(frame, item_tip(*choice));
  }
  end_combo();
}

void VariantMenus::draw_all(const Frame& frame, const std::vector<KernelRow>& rows, float width) {
  const core::DeviceInfo& device = frame.snapshot.device;
  const plan::Selection selection = coming(frame);
  const plan::Selection fastest = plan::default_selection(device, selection.precision);
  const std::string word = selection_word(selection, device);
  if (!begin_combo(frame, "kernels.all", "all: " + word, width,
                   "Switches every op at once. Ops that lack the chosen variant keep theirs.")) {
    return;
  }
  if (combo_item(frame, "kernels.all=fastest", "fastest default", selection == fastest))
    request(frame, fastest);
  tooltip(frame, "For every op the last variant of its list that runs on this device in this precision.");
  for (const std::string& name : plan::variant_names(device.kind)) {
    int able = 0;
    std::string reason = "no operation of this model has it";
    for (const KernelRow& row : rows) {
      const ops::Variant* variant = ops::find_variant(row.op, device.kind, name);
      if (variant == nullptr) continue;
      const std::string why = refusal(frame, *variant, row, selection.precision);
      able += why.empty();
      if (!why.empty()) reason = why;
    }
    if (able > 0) reason.clear();
    const std::string note = fmt::format("{} of {} ops", able, rows.size());
    if (combo_item(frame, fmt::format("kernels.all={}", name).c_str(), name.c_str(), word == name, note,
                   reason)) {
      request(frame, with_all(frame, selection, rows, name));
      break;
    }
  }
  end_combo();
}

}  // namespace warpscope::ui
