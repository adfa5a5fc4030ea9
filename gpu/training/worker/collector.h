#pragma once
// Takes the records of steps as they arrive, and what follows from them: points, speeds, divergence.

#include <chrono>
#include <cstdint>
#include <string>

#include "gpu/engine/step_loop.h"
#include "gpu/messages/metrics.h"

namespace warpscope::training {

struct TrainingContext;

/// What was measured; `scaled`: losses are, and only then a step can be skipped for its scale.
MetricValues values_of(const StepResult& step, bool scaled, bool one_update, bool classifies);

class Collector {
 public:
  explicit Collector(TrainingContext& training) : training_(training) {}

  /// Those that have come; `flush` asks the device for all that it has.
  void collect(bool flush);
  /// The same, with a flush each 10 ms.
  void collect_if_due();
  /// Waits for the steps under way and takes their records.
  void drain();
  /// Pauses, or ends the run where nobody is there to go on, after looking where it began.
  void handle_divergence();
  /// The next step is to be timed op by op.
  bool timing_due();
  /// Another training begins.
  void restart() { last_step_seconds_ = 0; }

 private:
  using Clock = std::chrono::steady_clock;
  void note_step(const StepResult& step);
  std::string first_not_finite(std::uint64_t step) const;

  TrainingContext& training_;
  double last_step_seconds_ = 0;  ///< of the last step that had a time of its own
  Clock::time_point last_flush_{};
  Clock::time_point last_timing_{};
};

}  // namespace warpscope::training
