#pragma once
// Timing one piece of work over and over.

#include <functional>
#include <vector>

#include "gpu/core/device.h"

namespace warpscope::profiling {

/// The median of some times and how far they spread, in microseconds.
struct Spread {
  int samples = 0;
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  double middle = 0;  ///< from the first quartile to the third
};

/// By core::quantile. Zeros for none.
Spread spread_of(std::vector<double> microseconds);

/// How long to measure.
struct SampleLimits {
  int samples = 30;
  double seconds = 0.5;              ///< but at least kLeastSamples, if `samples` allows
  std::function<bool()> go_on = {};  ///< asked between samples; false stops, and there are no times then
};

inline constexpr int kLeastSamples = 3;

/// Runs `work` once unmeasured (it may load code), then measures it between two events; `before` is enqueued
/// ahead of each and not measured.
std::vector<double> time_samples(core::Device& device, core::Stream& stream, const SampleLimits& limits,
                                 const std::function<void()>& before, const std::function<void()>& work);

/// The same for work that follows itself without a pause: on a GPU several are enqueued at once with an event
/// between each, so that what the host takes to launch is not measured.
std::vector<double> time_back_to_back(core::Device& device, core::Stream& stream, const SampleLimits& limits,
                                      const std::function<void()>& work);

}  // namespace warpscope::profiling
