#pragma once
// Two benches side by side: what became faster or slower, and whether that is more than noise.

#include <string>
#include <vector>

#include "gpu/profiling/bench.h"
#include "gpu/profiling/peaks.h"
#include "gpu/profiling/step_bench.h"

namespace warpscope::profiling {

/// How one time changed.
struct Change {
  double before = 0;           ///< median, microseconds
  double after = 0;            ///< median, microseconds
  double ratio = 0;            ///< before over after: above 1 is faster
  bool beyond_spread = false;  ///< the ranges p10 to p90 do not overlap
};

struct BenchChange {
  BenchRow row;  ///< the later one
  Change change;
};

struct StepChange {
  StepRow row;  ///< the later one
  Change change;
};

/// Rows timed in both: the same op, shape, precision and variant. In the order of `after`.
std::vector<BenchChange> compare(const std::vector<BenchRow>& before, const std::vector<BenchRow>& after);

/// Whole steps timed in both: the same name, precision, batch and optimizer. In the order of `after`.
std::vector<StepChange> compare(const std::vector<StepRow>& before, const std::vector<StepRow>& after);

/// Why two benches of one device were not measured alike: "the peak of memory is 0.70 times the earlier one, ..."; ""
/// if they were. The peaks are the control: nothing but the load and the clock changes them, and they have to be within
/// 10 % of each other (training::kControlTolerance).
std::string peaks_doubt(const Peaks& before, const Peaks& after);

}  // namespace warpscope::profiling
