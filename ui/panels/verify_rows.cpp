#include "ui/panels/verify_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {

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
  tip += fmt::format("\n{} shapes agree, {} are not taken by this variant", row.checked, row.refused);
  tip += fmt::format("\nworst relative error {:.2e}, tolerance {:.2e} for a sum of {} products",
                     row.worst_error, row.tolerance, with_thousands(row.terms));
  tip += row.same_bits ? "\ntwo runs gave the same bits" : "\ntwo runs differed in some bits";
  tip += row.declared_deterministic ? "; declared deterministic" : "; declared not deterministic";
  tip += fmt::format("\nworkspace {}", bytes_text(static_cast<double>(row.workspace)));
  return row.failure.empty() ? tip : tip + "\n" + row.failure;
}

}  // namespace warpscope::ui
