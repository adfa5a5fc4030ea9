#pragma once
// What `warpscope bench` measured, as bars.

#include <optional>
#include <string>
#include <vector>

#include "app/bench_report.h"
#include "gpu/export/svg_bars.h"
#include "gpu/models/model.h"

namespace warpscope::app {

/// For each row of `rows`, the layers ("" for the whole network) whose call in a training step of `model` it
/// is, where every op runs by its automatic variant.
std::vector<std::vector<std::string>> calls_of_step(const std::vector<profiling::BenchRow>& rows,
                                                    const models::Model& model, int batch,
                                                    const core::DeviceInfo& device);

struct BenchChartChoice {
  std::string series = "variants";           ///< or "step"
  std::optional<core::Precision> precision;  ///< none: that of the first row
  bool logarithmic = false;
  std::string title;  ///< "" for one that names the device
};

/// "variants": for each op the times of its variants, summed over the shapes of the model, with their floor;
/// variants that were not timed on all of these shapes are left out. "step": the calls of the automatic
/// training step, the longest first. Throws core::BadInput, with what is valid, if the report has nothing of
/// what was chosen.
runs::BarChart chart_of(const BenchReport& report, const BenchChartChoice& choice);

}  // namespace warpscope::app
