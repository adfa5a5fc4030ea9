#pragma once
// What is measured of a training step, and of held-out images after it: one row for each metric. Files, feeds,
// snapshots, exports and curves go over the rows: a new metric is its enumerator, its row, and the place where it is
// measured.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "gpu/core/enumerators.h"
#include "gpu/messages/evaluation.h"

namespace warpscope::training {

/// In the order of the rows.
enum class Metric : std::uint8_t {
  loss,
  accuracy,
  gradient_norm,
  update_ratio,
  learning_rate,
  loss_scale,
  images_per_second,
  psnr,
  feature_accuracy,
  head_loss,
  head_accuracy
};

inline constexpr std::size_t kMetrics = core::enumerators<Metric>();

struct MetricRow {
  Metric metric;
  std::string key;         ///< in metrics.jsonl, settings and names of files: "gradient_norm"
  std::string name;        ///< on the screen: "gradient norm"
  std::string unit;        ///< "%" of shares, "dB"; "" where there is none
  std::string label;       ///< of its plot: "Accuracy, %"
  std::string steps;       ///< the series of a run's steps (gpu/runs); "" if only held-out images have it
  std::string test;        ///< the series of its tests; "" if only steps have it
  std::string validation;  ///< likewise of evaluations of validation images
  bool always;             ///< lines of steps have it, as null where it was not measured
  bool smooths;            ///< it scatters from step to step, so that an average helps
  bool logarithmic;        ///< the axis it starts with
  const char* meaning;     ///< one sentence for somebody who has never seen it
  const char* measured;    ///< over what it is taken in a step, and when it is there

  /// From the trainer's numbers to those that are shown: 100 for shares in percent.
  float factor() const { return unit == "%" ? 100.0f : 1.0f; }
  const std::string& series(Split split) const {
    return split == Split::train ? steps : split == Split::test ? test : validation;
  }
};

/// All rows, in the order of Metric.
std::span<const MetricRow> metrics();
inline const MetricRow& row_of(Metric metric) {
  return metrics()[static_cast<std::size_t>(metric)];
}

/// A value for each metric; NaN where it was not measured.
class MetricValues {
 public:
  constexpr MetricValues() { values_.fill(std::numeric_limits<float>::quiet_NaN()); }
  float& operator[](Metric metric) { return values_[static_cast<std::size_t>(metric)]; }
  float operator[](Metric metric) const { return values_[static_cast<std::size_t>(metric)]; }

 private:
  std::array<float, kMetrics> values_{};
};

}  // namespace warpscope::training
