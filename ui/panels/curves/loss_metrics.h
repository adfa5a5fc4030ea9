#pragma once
// The quantities that the curves panel can show, one a plot.

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "gpu/messages/metrics.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

using training::kMetrics;
using training::Metric;
using MetricFacts = training::MetricRow;

inline const MetricFacts& facts_of(Metric metric) {
  return training::row_of(metric);
}

/// What a step's value is and how it is measured, from the table of figures.
std::string tip_of(Metric metric);

/// MetricFacts::logarithmic of all metrics.
std::array<bool, kMetrics> logarithmic_at_first();

/// A value of a run or of the trainer as the curves show it.
float shown_value(Metric metric, double value);

/// What of each metric the steps so far have brought: true where some value tells anything.
using MetricsSeen = std::array<bool, kMetrics>;

/// Why `metric` has no curve in this training, in one sentence; "" if it has one or may have one soon.
std::string why_missing(Metric metric, const training::Snapshot& snapshot, const MetricsSeen& seen);

/// What a new plot shows: the first metric that none of `shown` is and that has a curve, else the first one.
Metric metric_for_another(std::span<const Metric> shown, const training::Snapshot& snapshot,
                          const MetricsSeen& seen);

}  // namespace warpscope::ui
