#pragma once
// The quantities that the curves panel can show, one a plot.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

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

inline constexpr std::size_t kMetrics = 11;

struct MetricFacts {
  const char* label;  ///< "Gradient norm", "Accuracy, %"
  const char* key;    ///< "gradient_norm": of settings and file names
  float factor;       ///< from the trainer's numbers to those shown: 100 for shares in percent
  const char*
      steps;  ///< the series of a run's steps (gpu/runs); "" if it is measured on held-out images alone
  const char* test;        ///< the series of its tests; "" if it is measured in training alone
  const char* validation;  ///< the series over validation images; "" likewise
  bool smooths;            ///< scatters from step to step, so that an average helps
  bool logarithmic;        ///< the axis it starts with
};

const MetricFacts& facts_of(Metric metric);

/// What a step's value is and how it is measured, from the table of figures.
std::string tip_of(Metric metric);

/// MetricFacts::logarithmic of all metrics.
std::array<bool, kMetrics> logarithmic_at_first();

/// A value of a run or of the trainer as the curves show it; NaN, a gap, where 0 stands for "not measured".
float shown_value(Metric metric, double value);

/// What of each metric the steps so far have brought: true where some value tells anything.
using MetricsSeen = std::array<bool, kMetrics>;

/// Why `metric` has no curve in this training, in one sentence; "" if it has one or may have one soon.
std::string why_missing(Metric metric, const training::Snapshot& snapshot, const MetricsSeen& seen);

/// What a new plot shows: the first metric that none of `shown` is and that has a curve, else the first one.
Metric metric_for_another(std::span<const int> shown, const training::Snapshot& snapshot,
                          const MetricsSeen& seen);

}  // namespace warpscope::ui
