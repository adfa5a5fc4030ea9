#include "ui/panels/laboratory/determinism_panel.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ui/panels/laboratory/determinism_rows.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::TrainerState;

enum : std::size_t { kTensor, kOp, kVariant, kDifferent, kElements, kPart, kLargest, kRelative };

constexpr std::array<Column, 8> kColumns{{
    {"tensor", "What an operation of the step wrote, in the order of the launches.", 152},
    text_column("operation", "The operation that wrote it.", 156, 2),
    text_column("variant", "The variant that ran.", 88, 3),
    number_column("differ", "Elements whose bits are not the same in both runs.", 72),
    number_column("of", "Elements of the tensor.", 72, 6),
    number_column("part", "The part that differs.", 56, 4),
    number_column("largest |a - b|", "The largest difference between the two runs.", 88, 1),
    number_column("relative", "The largest difference over the largest magnitude in the tensor.", 64, 5),
}};

void draw_row(const Frame& frame, Table& table, const training::TensorDifference& difference) {
  const bool differs = difference.different > 0;
  const ImU32 color = differs ? frame.palette.text : frame.palette.muted;
  const std::string tip =
      difference.layer.empty() ? std::string() : fmt::format("of the layer {}", difference.layer);
  table.text(kTensor, difference.tensor, color, tip);
  table.text(kOp, ops::to_string(difference.op), color, tip);
  table.text(kVariant, difference.variant, color, tip);
  table.number(kDifferent, with_thousands(difference.different), differs ? frame.palette.warning : color);
  table.number(kElements, with_thousands(difference.elements), frame.palette.muted);
  table.number(kPart, part_text(difference), color);
  table.number(kLargest, differs ? fmt::format("{:.2e}", difference.largest) : "0", color);
  table.number(kRelative, differs ? fmt::format("{:.1e}", difference.largest_relative) : "0", color);
}

}  // namespace

std::span<const Column> DeterminismPanel::columns() {
  return kColumns;
}

void DeterminismPanel::draw_button(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const std::uint64_t id = snapshot.determinism ? snapshot.determinism->id : 0;
  const bool able = snapshot.revival
                        ? snapshot.revival->problem.empty()
                        : snapshot.state == TrainerState::running || snapshot.state == TrainerState::paused;
  if (waiting_ && (id != id_before_ || snapshot.notice_id != notice_id_ || !able)) waiting_ = false;
  // A view of a run steers nothing by it: the step is made here, from a checkpoint.
  std::optional<Steering> steering;
  if (!snapshot.revival) steering.emplace(frame);
  const std::string tip = why_no_look(snapshot,
                                      "Runs the next step twice side by side from the same weights and "
                                      "images and compares every bit that its "
                                      "operations write. The weights stay as they are.");
  if (text_button(frame, "determinism.check", waiting_ ? "Running ..." : "Run the same step twice", tip,
                  able && !waiting_)) {
    waiting_ = true;
    id_before_ = id;
    notice_id_ = snapshot.notice_id;
    frame.send(training::CheckDeterminism{});
  }
}

void DeterminismPanel::draw(const Frame& frame) {
  const auto& report = frame.snapshot.determinism;
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  draw_button(frame);
  if (!report || report->id == 0) {
    centered_text(frame,
                  "Not checked yet. Run the same step twice to see which tensors differ in which bits.");
    return;
  }
  const bool equal = tensors_that_differ(*report) == 0;
  ImGui::SameLine(0, 8 * frame.scale);
  if (!equal) {
    toggle(frame, "determinism.differences", "differences only", &differences_only_,
           "Lists the tensors that differ.");
    ImGui::SameLine(0, 12 * frame.scale);
  }
  std::string text = fmt::format("step {}: {}", with_thousands(report->step), determinism_summary(*report));
  const bool other = report->selection != plan::to_string(frame.snapshot.selection);
  if (other) text += " (with another selection than now)";
  row_text(frame, frame.fonts.text, equal ? frame.palette.good : frame.palette.warning,
           ellipsize(frame.fonts.text, text, ImGui::GetContentRegionAvail().x));
  tooltip(frame, text + "\nwith " + report->selection);
  std::vector<const training::TensorDifference*> shown;
  for (const training::TensorDifference& difference : report->tensors) {
    if (equal || !differences_only_ || difference.different > 0) shown.push_back(&difference);
  }
  Table table(frame, "determinism.table", kColumns);
  table.rows(static_cast<int>(shown.size()),
             [&](int i) { draw_row(frame, table, *shown[static_cast<std::size_t>(i)]); });
}

}  // namespace warpscope::ui
