#pragma once
// What losses do to a training: the rate of its next step, early stops, the best checkpoint, divergence.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/engine/step_loop.h"
#include "gpu/messages/evaluation.h"
#include "gpu/messages/snapshot.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// A plain value: what is remembered of one training. A reset begins with a new one.
class Steering {
 public:
  /// The rate of the next step after `epoch` epochs of `total_epochs`.
  double rate(const TrainingSettings& settings, double epoch, double total_epochs) const;
  /// True if the engine has ended an epoch since the last call.
  bool epoch_ended(const TrainingSettings& settings, std::uint64_t epochs_done);
  /// True if the schedule waits for an evaluation, whenever the next one would be.
  bool needs_evaluation() const { return now_.plateau_due; }

  /// After a step and `seconds` of training; what was found if that is divergence.
  std::optional<Verdict> judge(const TrainingSettings& settings, const StepResult& step, double seconds);
  /// After an evaluation of the images that steer. Returns what the schedule changed, for a marker; "" if nothing.
  std::string judge(const TrainingSettings& settings, const Evaluation& evaluation);
  bool is_best(const Evaluation& evaluation) const;
  void note_best(const Evaluation& evaluation) { now_.best_loss = evaluation.loss; }
  void note_evaluation(std::uint64_t step) { now_.evaluation_step = step; }
  std::uint64_t last_evaluation() const { return now_.evaluation_step; }
  /// For a run that goes on after `seconds` of training: it may be at its end already. `which` split steers.
  void judge_before(const TrainingSettings& settings, double seconds, std::string_view which);
  /// Why the run ends; "" as long as it goes on.
  const std::string& stop_reason() const { return now_.stop_reason; }

  /// Until somebody says how to go on.
  bool diverged() const { return now_.diverged; }
  /// True once after judge() has found divergence that is to be looked into between steps.
  bool take_pending();
  bool pending() const { return now_.pending; }
  /// The training goes on, or this is a state from before the divergence.
  void clear_divergence() { now_.diverged = now_.pending = false; }
  bool loss_was_finite() const { return now_.loss_was_finite; }

  /// The statistics of losses begin anew: other images, another network, or training goes on after divergence.
  void restart_statistics() { restart(now_.spikes); }
  /// What `later` knows of losses up to some step becomes what this one knows: it was copied while they were under way.
  void take_losses_of(const Steering& later);
  /// A person has changed settings.
  void follow(const TrainingSettings& before, const TrainingSettings& now);
  /// Losses of evaluations are other ones from here on: neither better nor worse than those before.
  void forget_evaluations();

  /// For checkpoints. Throws core::BadInput that names a field.
  nlohmann::json written() const;
  void read(const nlohmann::json& json, std::uint64_t epochs_done);

 private:
  struct Remembered {
    std::uint64_t evaluation_step = 0;
    std::uint64_t epochs_seen = 0;
    PlateauState plateau;
    SpikeState spikes;
    StopState stops;
    std::optional<double> best_loss;  ///< of the checkpoint that is the best
    bool plateau_due = false;         ///< the next evaluation is the one at the end of an epoch
    std::string stop_reason;
    bool diverged = false;
    bool pending = false;          ///< noted while results came in, to be looked into between steps
    bool loss_was_finite = false;  ///< the one that diverged
  };
  /// All of it, bit for bit, for another process (gpu/messages/bytes.h).
  friend Remembered sent_as(const Steering& steering) { return steering.now_; }
  friend void take_as(Steering& steering, Remembered sent) { steering.now_ = std::move(sent); }

  Remembered now_;
};

}  // namespace warpscope::training
