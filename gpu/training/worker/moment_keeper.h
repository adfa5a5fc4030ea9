#pragma once
// When moments of a training are taken, and what is noted of its changes between them.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/training/left_trainings.h"
#include "gpu/training/moments.h"

namespace warpscope::training {

struct TrainingContext;

class MomentKeeper {
 public:
  explicit MomentKeeper(TrainingContext& training) : training_(training) {}

  Moments& kept() { return moments_; }
  const Moments& kept() const { return moments_; }

  void make_room();
  /// The training that begins now has no past to go back to.
  void begin();
  /// It goes on from `target`, in another generation, with the first `changes` of those that are noted.
  void begin(const LeftState& target, std::size_t changes);
  void take_if_due();
  /// All steps are made: what fails after that need not cost any of them. All of them have come.
  void take_last();
  /// What is about to change can be gone back to. One that is on its way is close enough: no step waits.
  void keep_before_change();
  /// The weights are others, or steps are left out: what comes is made again from here only.
  void break_off();
  /// All steps under way have come.
  void settle_all();
  /// The state of the one that is expected, if it is there; `waits` until it is.
  void settle(bool waits = false);
  /// By the command that is carried out.
  void note_change(const std::string& what);
  void forget_first_weights() { first_weights_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;
  MomentFiles::Place place() const;
  void take_on(const HandedMoments& handed);
  bool guards() const;
  void take(bool matters, bool only_guards = false);
  void do_without(const core::Error& error);
  void tell();

  TrainingContext& training_;
  Moments moments_{0};
  std::shared_ptr<const std::vector<float>> first_weights_;  ///< nullptr if they are other ones now
  bool no_memory_ = false;                                   ///< for any of them
  Clock::time_point next_moment_{}, last_change_{}, next_newest_{};
};

}  // namespace warpscope::training
