#pragma once
// What `warpscope bench` measured: as tables, JSON and CSV, and read back from JSON.

#include <string>
#include <vector>

#include "app/choices.h"
#include "gpu/profiling/bench.h"
#include "gpu/profiling/compare.h"
#include "gpu/profiling/contest.h"
#include "gpu/profiling/step_bench.h"

namespace warpscope::app {

struct BenchReport {
  core::DeviceInfo device;
  int batch = 0;
  profiling::Peaks peaks;
  std::vector<profiling::BenchRow> rows;
  /// For each row, the layers whose call of the automatic step it is.
  std::vector<std::vector<std::string>> in_step;
  std::string optimizer;  ///< rule of the whole steps
  std::vector<profiling::StepRow> steps;
  std::vector<profiling::Advice> advice;     ///< one a precision
  std::vector<const ops::Variant*> missing;  ///< variants for which there is no device
  std::string missing_reason;
  bool complete = true;  ///< not interrupted
};

std::string peaks_text(const core::DeviceInfo& device, const profiling::Peaks& peaks);
/// A table for each op, shape and precision, variants in the order of their ranks.
std::string rows_text(const BenchReport& report);
std::string steps_text(const BenchReport& report);
/// A line for each precision: whether whole steps say that something is faster than the choice of now.
std::string advice_text(const BenchReport& report);
std::string missing_text(const BenchReport& report);
/// What changed since `before`, which came from `file`.
std::string changes_text(const BenchReport& before, const BenchReport& after, const std::string& file);

/// One object: device, peaks, rows, steps. Ends with a newline.
std::string to_json(const BenchReport& report);
/// Reads what to_json() wrote; `missing` stays empty. Throws core::BadInput that names `file` if it is
/// something else.
BenchReport read_bench_report(const std::string& file);
/// A line for each row that was timed, after one of titles.
std::string to_csv(const BenchReport& report);

/// Which variants trainings of this step take by --measure in each precision, with their times; `anew`: measured now
/// and kept, else as far as it was measured before. Throws core::Error.
std::string measured_text(const ops::Context& context, const models::Model& model,
                          const profiling::StepSetup& setup, const std::vector<core::Precision>& precisions,
                          bool anew);

}  // namespace warpscope::app
