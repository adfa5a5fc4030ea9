#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/core/quantile.h"

namespace warpscope::training {

/// The speeds of the steps in the last second of training, pauses not counted.
class StepSpeeds {
 public:
  /// A step that ended after `at` seconds of training; a speed of 0 or none was not measured.
  void add(double at, double images_per_second) {
    if (!(images_per_second > 0)) return;
    if (!speeds_.empty() && at < speeds_.back().first) clear();  // it went back
    speeds_.emplace_back(at, images_per_second);
    while (speeds_.front().first <= at - 1) speeds_.pop_front();
  }
  /// What comes has another speed.
  void clear() { speeds_.clear(); }
  /// Images a second; nothing before the first.
  std::optional<double> median() const {
    if (speeds_.empty()) return std::nullopt;
    std::vector<double> sorted;
    for (const auto& [at, speed] : speeds_) sorted.push_back(speed);
    std::sort(sorted.begin(), sorted.end());
    return core::quantile(sorted, 0.5);
  }
  /// For a step of so many images that has no time of its own: as most take. One step may take a hundred times as long,
  /// so the last one's time says little. `otherwise` before the first speed.
  double usual_seconds(double images, double otherwise) const {
    const std::optional<double> speed = median();
    return speed ? images / *speed : otherwise;
  }

 private:
  std::deque<std::pair<double, double>> speeds_;  ///< when, and how fast
};

}  // namespace warpscope::training
