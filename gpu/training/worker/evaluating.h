#pragma once
// Evaluations on held-out images between the steps, and what they decide.

#include <cstdint>
#include <memory>

#include "gpu/messages/evaluation.h"

namespace warpscope::training {

struct TrainingContext;

class Evaluating {
 public:
  explicit Evaluating(TrainingContext& training) : training_(training) {}

  /// One that `only_shows` is for who looks on: nothing is recorded or judged by it.
  void start(Split split, bool only_shows = false);
  /// A batch of the one that runs.
  void advance();
  /// What is known at the end: the held-out images that steered, unless they were evaluated after this very step, and
  /// then the test set, if it is another.
  void evaluate_all();
  /// The weights, or what computes with them, are others after the same step.
  void forget() { noted_ = nullptr; }

 private:
  void note(const std::shared_ptr<const Evaluation>& evaluation);
  /// True if what was noted last is of these weights.
  bool is_noted(Split split) const;

  TrainingContext& training_;
  bool only_shows_ = false;  ///< the one that runs: it steers nothing
  std::shared_ptr<const Evaluation> noted_;
  std::uint64_t noted_in_ = 0;  ///< the generation of noted_
};

}  // namespace warpscope::training
