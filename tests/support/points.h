#pragma once
// Points of a training in tests.

#include <cstdint>
#include <limits>

#include "gpu/messages/feed.h"

namespace warpscope::tests {

/// One of a step; a speed of 0 was not measured.
inline training::Point step_point(std::uint64_t step, double epoch = 0, float loss = 0, float rate = 0.1f,
                                  double images_per_second = 0, double seconds = 0) {
  using training::Metric;
  training::Point point{step, epoch, seconds};
  point[Metric::loss] = loss;
  point[Metric::learning_rate] = rate;
  if (images_per_second > 0) point[Metric::images_per_second] = static_cast<float>(images_per_second);
  return point;
}

inline constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// One of held-out images.
inline training::Point test_point(std::uint64_t step, double epoch = 0, double seconds = 0, float loss = 0,
                                  float psnr = kNone, float accuracy = kNone,
                                  training::Split split = training::Split::test) {
  using training::Metric;
  training::Point point{step, epoch, seconds, split};
  point[Metric::loss] = loss;
  point[Metric::psnr] = psnr;
  point[Metric::accuracy] = accuracy;
  return point;
}

/// What features were worth.
inline training::Point probe_point(std::uint64_t step, double epoch, double seconds, float accuracy) {
  training::Point point{step, epoch, seconds, training::Split::test};
  point[training::Metric::feature_accuracy] = accuracy;
  return point;
}

}  // namespace warpscope::tests
