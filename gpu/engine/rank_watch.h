#pragma once
// What a rank sees of itself: its newest timed steps, which are then laid beside those of the others, and its GPU.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/energy.h"
#include "gpu/messages/rank_figures.h"
#include "gpu/plan/plan.h"
#include "gpu/ranks/clocks.h"

namespace warpscope::training {

/// A timed step by the clock of its rank.
struct TimedStep {
  std::uint64_t step = 0;  ///< from 1; 0: none
  std::int64_t began = 0;  ///< nanoseconds
  double uncertainty = 0;  ///< of that, microseconds
  double forward = 0;      ///< microseconds, as all that follow
  double backward = 0;
  double sums = 0;
  double update = 0;
  double beside = 0;  ///< RankStep::beside
};

/// Ranks may have timed different steps last, so each tells of two.
using TimedSteps = std::array<TimedStep, 2>;

class RankWatch {
 public:
  explicit RankWatch(std::shared_ptr<core::Device> device);

  /// `microseconds` of the nodes of `plan`, which has just given them, of step `step` with so many passes. Waits as
  /// long as the device takes to answer.
  void note(std::uint64_t step, const plan::Plan& plan, std::span<const double> microseconds, int passes);
  const TimedSteps& newest() const { return newest_; }
  core::GpuLoad load() const { return meter_.load(); }

 private:
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;  ///< idle, so that an event on it is of now
  std::unique_ptr<core::Event> now_;
  TimedSteps newest_{};
  core::EnergyMeter meter_;
};

/// The newest step that is in all of `ranks`, of each of them on one axis, and to within how many microseconds its
/// start is known; steps of number 0 where there is none.
struct AlignedStep {
  RankStep step;
  double uncertainty = 0;
};
std::vector<AlignedStep> aligned_steps(std::span<const TimedSteps> ranks,
                                       std::span<const ranks::ClockOffset> clocks);

}  // namespace warpscope::training
