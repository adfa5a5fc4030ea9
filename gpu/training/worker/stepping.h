#pragma once
// The steps of a training, from the first to the end, and those of its learning-rate range test.

#include <cstdint>
#include <optional>
#include <utility>

#include "gpu/training/rate_test.h"

namespace warpscope::training {

struct TrainingContext;

class Stepping {
 public:
  explicit Stepping(TrainingContext& training) : training_(training) {}

  /// Something is to be done without a command.
  bool works() const;
  /// A step, or a part of what is under way instead.
  void advance();
  void pause();
  void resume();
  /// While paused.
  void make_one_more() { ++steps_to_run_; }
  std::uint64_t single_steps() const { return steps_to_run_; }
  void forget_single_steps() { steps_to_run_ = 0; }
  void write_checkpoint(bool is_best);
  /// The end: evaluations, pictures, files.
  void finish();

  void start_rate_search(const RateFinderOptions& options);
  void end_rate_search(bool cancelled);
  bool searches_rate() const { return rate_search_.has_value(); }
  /// The ranks that made the search's steps are gone: the state from before it.
  EngineState give_up_rate_search();
  /// True if a step has begun and is not enqueued: it will not be.
  bool break_off() { return std::exchange(in_step_, false); }

 private:
  void step();

  TrainingContext& training_;
  std::uint64_t steps_to_run_ = 0;  ///< of StepOnce while paused
  bool in_step_ = false;            ///< one has begun and is not enqueued
  std::optional<RateTest> rate_search_;
};

}  // namespace warpscope::training
