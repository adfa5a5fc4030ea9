#pragma once
// The way back to any step of a training: from the moment before it the steps are made again as they were made first,
// with the same settings, rates and variants.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gpu/engine/step_loop.h"
#include "gpu/messages/commands.h"
#include "gpu/training/left_trainings.h"
#include "gpu/training/moments.h"

namespace warpscope::training {

struct TrainingContext;

class Rewinder {
 public:
  /// The step that the training goes back to.
  struct WayBack {
    std::uint64_t to = 0;
    std::optional<std::uint64_t> number = {};  ///< of the training there; nothing: a new one
    std::uint64_t before = 0;                  ///< to before what this command changed; 0: before all changes
    bool goes_on = false;                      ///< once it is there
  };

  explicit Rewinder(TrainingContext& training) : training_(training) {}

  void rewind_to(std::uint64_t step);
  /// The moment from which that step is reached, with its state. All that is under way has come. Throws core::BadInput.
  Moment moment_for(const WayBack& way);
  /// Makes the steps behind the moment again.
  void rewind_from(const Moment& moment, const WayBack& way);
  /// To before what that command changed.
  void take_back(std::uint64_t command);
  /// On the way a rank was missing, and the training stands where it stood.
  void go_back_again(const WayBack& way);

  /// Steps are made again.
  bool running() const { return rewinding_.has_value(); }
  WayBack way() const;
  void advance();
  /// True if that is all that `command` means while steps are made again; else they come to an end.
  bool rewinds_on(const Command& command);
  /// The training stands where it stood.
  void cancel(const std::string& why);
  /// The training that was left for it: the ranks that made the steps again are gone.
  LeftState give_up();

 private:
  /// From a moment to the step that is wanted.
  struct Rewinding {
    LeftState left;    ///< the training that is left for it
    LeftState target;  ///< the training after the last step that was made again
    std::uint64_t from = 0, to = 0;
    std::uint64_t generation = 0;  ///< in which they were made first
    std::size_t next_change = 0, next_evaluation = 0;
    std::uint64_t before = 0;       ///< WayBack::before
    bool other_kernels = false;     ///< Moment::other_kernels
    std::uint64_t regroupings = 0;  ///< before the moment
    double step_seconds = 0;        ///< of each, as far as it is known
    bool goes_on = false;           ///< once it is there
  };
  const Moment* find_moment(const WayBack& way) const;
  LeftState target_of(const Moment& moment);
  void rewind(const WayBack& way);
  void make_step_again();
  void enter_branch();
  void change_again(std::size_t end);
  void judge_again(bool changes);
  void take_again(bool all);
  void note_again(const StepResult& step);
  void end();

  TrainingContext& training_;
  std::optional<Rewinding> rewinding_;
};

}  // namespace warpscope::training
