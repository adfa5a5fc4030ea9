#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace warpscope::training {

/// The speeds of the last second of steps.
class StepSpeeds {
 public:
  /// A step of so many images; `seconds` is 0 if it has no time of its own.
  void add(double seconds, int images) {
    if (seconds <= 0) return;
    last_seconds_ = seconds;
    speeds_.push_back(images / seconds);
    while (speeds_.size() > kMost ||
           (speeds_.size() > 1 && static_cast<double>(speeds_.size()) * last_seconds_ > 1.0)) {
      speeds_.pop_front();
    }
  }
  /// What comes has another speed.
  void clear() { speeds_.clear(); }
  /// The time of the last step that had one; 0 before.
  double last_seconds() const { return last_seconds_; }
  /// Images a second; nothing before the first.
  std::optional<double> median() const {
    if (speeds_.empty()) return std::nullopt;
    std::vector<double> sorted(speeds_.begin(), speeds_.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

 private:
  static constexpr std::size_t kMost = 512;
  std::deque<double> speeds_;
  double last_seconds_ = 0;
};

}  // namespace warpscope::training
