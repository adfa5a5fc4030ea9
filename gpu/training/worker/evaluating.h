#pragma once
// Evaluations on held-out images between the steps, and what they decide.

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
  /// What is known at the end: the held-out images that steered, and then the test set.
  void evaluate_all();

 private:
  void note(const std::shared_ptr<const Evaluation>& evaluation);

  TrainingContext& training_;
  bool only_shows_ = false;  ///< the one that runs: it steers nothing
};

}  // namespace warpscope::training
