#include "gpu/profiling/compare.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "gpu/messages/measured.h"

namespace warpscope::profiling {
namespace {

template <class Row>
Change change_of(const Row& before, const Row& after) {
  return {before.median, after.median, before.median / after.median,
          before.p10 > after.p90 || after.p10 > before.p90};
}

bool same(const BenchRow& a, const BenchRow& b) {
  return a.what.op == b.what.op && a.what.shape == b.what.shape && a.precision == b.precision &&
         a.variant == b.variant;
}
bool same(const StepRow& a, const StepRow& b) {
  return a.name == b.name && a.selection.precision == b.selection.precision && a.batch == b.batch &&
         a.rule == b.rule;
}

template <class Result, class Row>
std::vector<Result> compare_rows(const std::vector<Row>& before, const std::vector<Row>& after) {
  const auto timed = [](const Row& row) { return row.skipped.empty() && row.median > 0; };
  std::vector<Result> changes;
  for (const Row& row : after) {
    if (!timed(row)) continue;
    const auto found =
        std::ranges::find_if(before, [&](const Row& old) { return timed(old) && same(old, row); });
    if (found != before.end()) changes.push_back({row, change_of(*found, row)});
  }
  return changes;
}

}  // namespace

std::vector<BenchChange> compare(const std::vector<BenchRow>& before, const std::vector<BenchRow>& after) {
  return compare_rows<BenchChange>(before, after);
}

std::string peaks_doubt(const Peaks& before, const Peaks& after) {
  std::string_view name;
  double worst = 1;
  const auto look = [&](std::string_view what, double was, double is) {
    if (!(was > 0) || !(is > 0) || std::abs(std::log(is / was)) <= std::abs(std::log(worst))) return;
    name = what;
    worst = is / was;
  };
  look("memory", before.bytes, after.bytes);
  look("fp32", before.fp32, after.fp32);
  look("tf32", before.tf32, after.tf32);
  look("fp16", before.fp16, after.fp16);
  look("bf16", before.bf16, after.bf16);
  if (std::max(worst, 1 / worst) <= 1 + training::kControlTolerance) return {};
  return fmt::format(
      "the peak of {} is {:.2f} times the earlier one, so the device is not as busy as it was, or runs at "
      "another "
      "clock",
      name, worst);
}

std::vector<StepChange> compare(const std::vector<StepRow>& before, const std::vector<StepRow>& after) {
  return compare_rows<StepChange>(before, after);
}

}  // namespace warpscope::profiling
