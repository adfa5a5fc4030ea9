#pragma once
// Trainings that are left by a reset, another network, divergence or the end of the window, and the ways back to them.

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "gpu/training/left_trainings.h"
#include "gpu/training/training_tree.h"
#include "gpu/training/variant_history.h"

namespace warpscope::training {

struct TrainingContext;

class TrainingKeeper {
 public:
  explicit TrainingKeeper(TrainingContext& training) : training_(training) {}

  TrainingTree& tree() { return tree_; }

  // The engine's copies of weights, for divergence.
  void remember();
  void remember_if_due();
  /// A step's point comes next.
  void before_point(std::uint64_t step);
  /// What was known when the engine made that copy goes to `left`.
  void recall(std::size_t copy, LeftState& left) const { copies_.recall(copy, left); }
  /// Weights from before, with a lower rate. Throws core::BadInput.
  void roll_back();
  void keep_what_was_before_divergence();

  // Other trainings of this window.
  /// The training between two steps. Throws core::OutOfMemory.
  LeftState left_now();
  void keep(LeftState left);
  void list_left();
  /// The training has a number of its own from here on.
  void begin_training();
  /// To one that was left. Throws core::Error, with the training as it was.
  void return_to(std::uint64_t number);
  /// Settings, network, optimizer, weights, state and place in the data of a training that was left. What cannot be
  /// throws, with settings and network as they are or as they were.
  void take_on(const LeftState& target);
  /// Kernels of users have the versions of `then`.
  void use_selection(const plan::Selection& selection, const ops::Variants& then);
  /// What the owners and those who look on know of the training, once the engine has it. It has the first `changes` of
  /// those that are noted, where these are fewer than all.
  void go_on_with(LeftState target, bool other_network, const std::string& told,
                  std::size_t changes = std::numeric_limits<std::size_t>::max());

  /// The window closes. What the training has is written, whatever its state.
  void leave();

 private:
  using Clock = std::chrono::steady_clock;
  float rate_to_go_back(std::uint64_t steps) const;
  bool go_back_to_what_is_worth_it();
  void keep_unsaved();

  TrainingContext& training_;
  LeftTrainings left_;
  TrainingTree tree_;
  ProgressOfCopies copies_;
  Clock::time_point last_remembered_{};
};

}  // namespace warpscope::training
