#include "gpu/profiling/compare.h"

#include <algorithm>

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

std::vector<StepChange> compare(const std::vector<StepRow>& before, const std::vector<StepRow>& after) {
  return compare_rows<StepChange>(before, after);
}

}  // namespace warpscope::profiling
