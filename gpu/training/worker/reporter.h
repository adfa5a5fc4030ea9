#pragma once
// What a training tells of itself as it goes on: snapshots, its state, sizes and energy.

#include <chrono>
#include <functional>
#include <string>

#include "gpu/messages/snapshot.h"

namespace warpscope::training {

struct TrainingContext;

class Reporter {
 public:
  explicit Reporter(TrainingContext& training) : training_(training) {}

  /// A snapshot, if one is due or `force` asks for it.
  void publish(bool force);
  void set_state(TrainerState state);
  /// The end of the training, and of what waits for an answer; `by_input`: what was asked for cannot be.
  void fail(const std::string& why, bool by_input);
  /// What plan and parameters take, and the shapes on which kernels of users are timed.
  void note_sizes();
  /// False if core::Error was thrown: it is told, and the training goes on as it was. Throws ranks::RankMissing and
  /// core::DeviceLost.
  bool attempt(const std::function<void()>& change);

 private:
  using Clock = std::chrono::steady_clock;
  void measure_energy();
  std::string handed_over_in() const;

  TrainingContext& training_;
  Clock::time_point last_memory_{};
  Clock::time_point last_ladder_{};
};

}  // namespace warpscope::training
