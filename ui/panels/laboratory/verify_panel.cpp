#include "ui/panels/laboratory/verify_panel.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/panels/laboratory/job_bar.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr JobButton kButton{
    "verify.start", "verify.cancel", "Verify",
    "Runs every variant in every precision on random shapes, odd ones included, with poisoned outputs, and "
    "compares with the double-precision reference. The training goes on meanwhile, slower.",
    jobs::Job::verify};

constexpr float kLeastTable = 80;  // design pixels

enum : std::size_t {
  kOp,
  kVariant,
  kPrecision,
  kVerdict,
  kError,
  kTolerance,
  kPart,
  kBits,
  kShapes,
  kWorkspace
};

constexpr std::array<Column, 10> kColumns{{
    {"operation", "What is computed.", 156},
    {"variant", "Who computes it.", 96},
    text_column("precision", "Precision of the operands; the reference computes with 64 bits.", 56, 1),
    {"verdict",
     "Right: every shape agrees with the reference within the tolerance, and the bits repeat if the variant "
     "says so.",
     56},
    number_column(
        "error",
        "||result - reference|| / ||reference|| of the shape where it is largest relative to its tolerance.",
        72, 4),
    number_column(
        "tolerance",
        "From the precision and the length of the sum: rounding errors grow with the square root of the "
        "length.",
        72, 5),
    number_column("used", "The error as a part of the tolerance.", 48, 2),
    text_column("two runs", "Whether two runs with the same input gave the same bits.", 80, 3),
    number_column("shapes",
                  "Shapes that agree, and after the dash those that the variant declares it does not take.",
                  64, 6),
    number_column("workspace", "The most scratch memory that it asked for on any of the shapes.", 80, 7),
}};

ImU32 verdict_color(const Frame& frame, Verdict verdict) {
  switch (verdict) {
    case Verdict::right:
      return frame.palette.good;
    case Verdict::wrong:
      return frame.palette.error;
    case Verdict::skipped:
      break;
  }
  return frame.palette.muted;
}

void draw_row(const Frame& frame, Table& table, const verify::VerifyRow& row) {
  const Verdict is = verdict(row);
  const std::string tip = verify_tip(row);
  const ImU32 color = is == Verdict::skipped ? frame.palette.muted : frame.palette.text;
  table.text(kOp, ops::to_string(row.op), color, tip);
  table.text(kVariant, verify::variant_text(row), color, tip);
  table.text(kPrecision, core::to_string(row.precision), color, tip);
  table.text(kVerdict, to_string(is), verdict_color(frame, is), tip);
  if (is == Verdict::skipped) {
    table.span_text(kError, kWorkspace, row.skipped, frame.palette.muted);
    return;
  }
  table.number(kError, row.worst_error > 0 ? fmt::format("{:.1e}", row.worst_error) : "0", color, tip);
  table.number(kTolerance, fmt::format("{:.1e}", row.tolerance), frame.palette.muted, tip);
  table.number(kPart, fmt::format("{:.0f}", 100 * part_of_tolerance(row)), color, tip, "%");
  const bool unexpected = !row.same_bits && row.declared_deterministic;
  table.text(kBits, determinism_text(row), unexpected ? frame.palette.error : frame.palette.muted, tip);
  table.number(
      kShapes,
      row.refused > 0 ? fmt::format("{} - {}", row.checked, row.refused) : std::to_string(row.checked), color,
      tip);
  table.quantity(kWorkspace, row.workspace > 0 ? bytes_text(static_cast<double>(row.workspace)) : "\u2014",
                 row.workspace > 0 ? color : frame.palette.muted, tip);
}

void draw_failure(const Frame& frame, Table& table, const verify::VerifyRow& row) {
  table.span_text(kVariant, kWorkspace, row.failure, frame.palette.error, verify_tip(row));
}

// A row of the table: a variant, or below it what went wrong.
struct Line {
  const verify::VerifyRow* row;
  bool failure;
};

std::vector<Line> lines_of(const std::vector<verify::VerifyRow>& rows, bool failures_only) {
  std::vector<Line> lines;
  for (const verify::VerifyRow& row : rows) {
    if (failures_only && verdict(row) != Verdict::wrong) continue;
    lines.push_back({&row, false});
    if (!row.failure.empty()) lines.push_back({&row, true});
  }
  return lines;
}

}  // namespace

Verdict verdict(const verify::VerifyRow& row) {
  if (!row.failure.empty()) return Verdict::wrong;
  return row.skipped.empty() ? Verdict::right : Verdict::skipped;
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::right:
      return "right";
    case Verdict::wrong:
      return "wrong";
    case Verdict::skipped:
      break;
  }
  return "skipped";
}

std::string verify_summary(const std::vector<verify::VerifyRow>& rows) {
  const auto count = [&](Verdict wanted) {
    return std::int64_t{std::count_if(rows.begin(), rows.end(),
                                      [&](const verify::VerifyRow& row) { return verdict(row) == wanted; })};
  };
  std::string text = fmt::format("{} right", with_thousands(count(Verdict::right)));
  for (const Verdict other : {Verdict::wrong, Verdict::skipped}) {
    if (count(other) > 0) text += fmt::format(", {} {}", with_thousands(count(other)), to_string(other));
  }
  return text;
}

double part_of_tolerance(const verify::VerifyRow& row) {
  return row.checked > 0 && row.tolerance > 0 ? row.worst_error / row.tolerance : 0;
}

std::string determinism_text(const verify::VerifyRow& row) {
  if (!row.skipped.empty()) return {};
  if (row.same_bits) return "same bits";
  return row.declared_deterministic ? "differs" : "differs, as declared";
}

std::string verify_tip(const verify::VerifyRow& row) {
  std::string tip =
      fmt::format("{} {} {}", ops::to_string(row.op), row.variant, core::to_string(row.precision));
  if (!row.skipped.empty()) return tip + "\nskipped: " + row.skipped;
  if (!row.covers.empty()) {
    tip += fmt::format("\none call covers {}; {} sets of these were checked", row.covers, row.sets);
  }
  tip += fmt::format("\n{} {}, {} {} not taken by this variant", files::counted(row.checked, "shape"),
                     row.checked == 1 ? "agrees" : "agree", row.refused, row.refused == 1 ? "is" : "are");
  tip += fmt::format("\nworst relative error {:.2e}, tolerance {:.2e} for a sum of {}", row.worst_error,
                     row.tolerance, files::counted(row.terms, "product"));
  tip += row.same_bits ? "\ntwo runs gave the same bits" : "\ntwo runs differed in some bits";
  tip += row.declared_deterministic ? "; declared deterministic" : "; declared not deterministic";
  tip += fmt::format("\nworkspace {}", bytes_text(static_cast<double>(row.workspace)));
  return row.failure.empty() ? tip : tip + "\n" + row.failure;
}

std::span<const Column> VerifyPanel::columns() {
  return kColumns;
}

void VerifyPanel::draw(const Frame& frame, LaboratoryController& controller) {
  const auto& rows = controller.state().verify;
  const bool wrong =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return verdict(row) == Verdict::wrong; });
  const std::string summary = rows.empty() ? std::string() : verify_summary(rows);
  if (!summary.empty() && text_width(frame.fonts.small, summary) <= title_room(frame)) {
    row_text(frame, frame.fonts.small, wrong ? frame.palette.error : frame.palette.muted, summary);
    tooltip(frame, "Variants in each precision; skipped ones cannot run on this device.");
  }
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  if (job_button(frame, controller, kButton)) controller.verify({});
  if (!rows.empty()) {
    next_in_row(frame, 8, toggle_width(frame, "failures only"));
    toggle(frame, "verify.failures", "failures only", &failures_only_,
           "Lists what is wrong and nothing else.");
  }
  job_progress(frame, controller, jobs::Job::verify, "verify.progress");
  if (rows.empty()) {
    centered_text(frame, controller.state().running == jobs::Job::verify
                             ? "The first variant is being checked."
                             : "Not verified yet. \"Verify\" compares every variant in every precision with "
                               "the double-precision reference.");
    return;
  }
  if (failures_only_ && !wrong) {
    centered_text(frame,
                  controller.state().running == jobs::Job::verify ? "No failure so far." : "No failure.");
    return;
  }
  const std::vector<Line> lines = lines_of(rows, failures_only_);
  begin_rest(frame, kLeastTable);
  {
    Table table(frame, "verify.table", kColumns);
    table.rows(static_cast<int>(lines.size()), [&](int i) {
      const auto& [row, failure] = lines[static_cast<std::size_t>(i)];
      failure ? draw_failure(frame, table, *row) : draw_row(frame, table, *row);
    });
  }
  end_rest();
}

}  // namespace warpscope::ui
