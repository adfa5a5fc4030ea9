#include <algorithm>
#include <map>

#include "gpu/profiling/bench.h"

namespace warpscope::profiling {

void rank(std::vector<BenchRow*> rows) {
  std::erase_if(rows, [](const BenchRow* row) { return !row->skipped.empty() || row->samples == 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const BenchRow* a, const BenchRow* b) { return a->median < b->median; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool tied = i > 0 && rows[i]->p10 <= rows[i - 1]->p90;
    rows[i]->rank = tied ? rows[i - 1]->rank : static_cast<int>(i) + 1;
  }
}

plan::Selection fastest_of(const std::vector<BenchRow>& rows, core::Precision precision,
                           plan::Selection otherwise) {
  struct Sum {
    double median = 0;
    std::size_t cases = 0;
  };
  std::map<ops::Op, std::map<std::string, Sum>> sums;
  std::map<ops::Op, std::vector<ops::OpShape>> shapes;
  for (const BenchRow& row : rows) {
    if (row.precision != precision) continue;
    auto& known = shapes[row.what.op];
    if (std::find(known.begin(), known.end(), row.what.shape) == known.end()) known.push_back(row.what.shape);
    if (!row.skipped.empty() || row.samples == 0) continue;
    Sum& sum = sums[row.what.op][row.variant];
    sum.median += row.median;
    ++sum.cases;
  }
  for (const auto& [op, variants] : sums) {
    double best = 0;
    for (const auto& [name, sum] : variants) {
      if (sum.cases != shapes[op].size() || (best > 0 && sum.median >= best)) continue;
      best = sum.median;
      otherwise.variants[op] = name;
    }
  }
  return otherwise;
}

}  // namespace warpscope::profiling
