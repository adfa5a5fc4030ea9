#include "ui/panels/start/challenge_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "gpu/plan/presets.h"
#include "gpu/settings/configuration.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::Command;
using training::Snapshot;
using training::TrainerState;
using CommandList = std::vector<Command>;

constexpr double kTimesFaster = 10;
/// The goal is this part of the speed that it had, where the simplest kernels are not so much slower.
constexpr double kOfFirstSpeed = 0.9, kLeastTimes = 1.2;
constexpr std::uint64_t kLeastTimed = 3;  // steps behind a speed
constexpr double kTooFast = 1000;         // times the learning rate: it diverges
constexpr float kMostRate = 1e5f;
constexpr std::uint64_t kAdamSteps = 200;
constexpr double kLossSteps = 20;  // over which losses are averaged

std::string why_no_challenge(const Snapshot& snapshot) {
  if (const std::string why = why_no_steering(snapshot); !why.empty()) return why;
  const bool takes = snapshot.state == TrainerState::running || snapshot.state == TrainerState::paused;
  return takes ? "" : "The training takes no changes now.";
}

// --- make this 10 times faster

const char* slow_preset(const Snapshot& snapshot) {
  return snapshot.device.kind == core::DeviceKind::cuda ? "naive" : "loops";
}

std::string why_not_slow(const Snapshot& snapshot) {
  if (const std::string why = why_no_challenge(snapshot); !why.empty()) return why;
  return plan::preset_unavailable_reason(slow_preset(snapshot), machine_of(snapshot),
                                         snapshot.selection.precision);
}

plan::Selection slow_selection(const Snapshot& snapshot) {
  return plan::preset_selection(slow_preset(snapshot), machine_of(snapshot), snapshot.selection.precision);
}

CommandList begin_slow(const Snapshot& /*snapshot*/) {
  return {training::Resume{}};
}

/// Images a second with the present selection and batch, once some steps tell; 0 before.
double speed_now(const Snapshot& snapshot) {
  const auto& ladder = *snapshot.ladder;
  const auto found = std::find_if(ladder.rbegin(), ladder.rend(), [&](const training::LadderEntry& entry) {
    return entry.selection == snapshot.selection && entry.batch == snapshot.settings->batch;
  });
  return found == ladder.rend() || found->timed < kLeastTimed ? 0 : found->images_per_second;
}

/// What is sure to be reached: not all networks have kernels on a CPU that are ten times as fast as the simplest.
double times_wanted(const Challenge& challenge) {
  const double had = kOfFirstSpeed * *challenge.first_speed / *challenge.baseline;
  return had >= kLeastTimes ? std::min(kTimesFaster, had) : kTimesFaster;
}

CommandList follow_slow(Challenge& challenge, const Snapshot& snapshot) {
  const double speed = speed_now(snapshot);
  if (!challenge.first_speed) {
    challenge.tell("its first steps are timed", 0);
    if (speed == 0) return {};
    challenge.first_speed = speed;
    return {training::Select{slow_selection(snapshot)}};
  }
  if (!challenge.baseline) {
    const bool slow = snapshot.selection == slow_selection(snapshot);
    if (slow && speed > 0) challenge.baseline = speed;
    challenge.tell("the simplest kernels are timed", 0);
    return {};
  }
  const double times = speed / *challenge.baseline, wanted = times_wanted(challenge);
  if (times >= wanted) {
    challenge.finish(fmt::format("done, {:.1f} times as fast", times));
  } else if (speed > 0) {
    challenge.tell(fmt::format("{:.1f} times as fast, of {:.1f}", times, wanted), times / wanted);
  }
  return {};
}

// --- why did it diverge

std::string why_not_diverging(const Snapshot& snapshot) {
  if (const std::string why = why_no_challenge(snapshot); !why.empty()) return why;
  return snapshot.settings->pause_on_divergence ? ""
                                                : "Divergence ends this training: --on-divergence is fail.";
}

CommandList begin_diverging(const Snapshot& /*snapshot*/) {
  return {training::Resume{}};
}

CommandList make_diverge(const Snapshot& snapshot) {
  const float rate = snapshot.settings->optimizer.learning_rate;
  training::Configuration change;
  change.set("learning_rate", std::min(static_cast<double>(kMostRate), kTooFast * static_cast<double>(rate)));
  return {training::Change{change}, training::Resume{}};
}

CommandList follow_diverging(Challenge& challenge, const Snapshot& snapshot) {
  if (!challenge.first_loss) {
    challenge.first_loss = challenge.loss().mean();
    challenge.tell("It trains well; something will be changed soon", 0);
    return challenge.first_loss ? make_diverge(snapshot) : CommandList{};
  }
  const double first = *challenge.first_loss;
  if (snapshot.divergence.id == challenge.divergence) {
    challenge.tell(fmt::format("Something was changed; the loss was {}", compact_number(first)), 0.1);
    return {};
  }
  if (snapshot.state != TrainerState::running) challenge.forget_loss();  // those from before do not count
  const auto loss = challenge.loss().mean();
  if (!loss) {
    challenge.tell("It has diverged and waits for you: bring it back", 0.25);
    return {};
  }
  if (*loss < first && snapshot.step > snapshot.divergence.back_step) {
    challenge.finish(fmt::format("Done: the loss is {}", compact_number(*loss)));
  } else {
    challenge.tell(fmt::format("The loss is {}, it was {}", compact_number(*loss), compact_number(first)),
                   0.5);
  }
  return {};
}

// --- beat Adam

CommandList begin_adam(const Snapshot& snapshot) {
  training::TrainingSettings other = *snapshot.settings;
  other.optimizer = training::with_rule(other.optimizer, ops::UpdateRule::adam);
  other.schedule = {};
  CommandList commands{training::Reset{}};
  const training::Configuration change = training::difference(*snapshot.settings, other);
  if (!change.empty()) commands.emplace_back(training::Change{change});
  commands.emplace_back(training::Resume{});
  return commands;
}

CommandList follow_adam(Challenge& challenge, const Snapshot& snapshot) {
  const auto loss = challenge.loss().mean();
  const double part = std::min(1.0, static_cast<double>(snapshot.step) / static_cast<double>(kAdamSteps));
  if (snapshot.generation == challenge.generation) return {};  // the reset is on its way
  if (!challenge.baseline) {
    challenge.tell(fmt::format("Adam trains: step {} of {}", snapshot.step, kAdamSteps), part / 2);
    if (snapshot.step < kAdamSteps || !loss) return {};
    challenge.baseline = loss;
    challenge.baseline_generation = snapshot.generation;
    return {training::Pause{}, training::Reset{}};
  }
  const std::string goal = fmt::format("{} by step {}", compact_number(*challenge.baseline), kAdamSteps);
  if (snapshot.generation == challenge.baseline_generation || snapshot.step == 0) {
    challenge.tell("your turn, for a loss of " + goal + "; choose, then start", 0.5);
  } else if (loss && snapshot.step < kAdamSteps && *loss <= *challenge.baseline) {
    challenge.finish(
        fmt::format("done, with the loss of Adam's step {} at step {}", kAdamSteps, snapshot.step));
  } else if (snapshot.step >= kAdamSteps) {
    challenge.tell("not yet: R starts again from the first weights, for " + goal, 0.5);
  } else {
    challenge.tell(fmt::format("step {}: a loss of {}, for {}", snapshot.step,
                               loss ? compact_number(*loss) : "...", goal),
                   0.5 + part / 2);
  }
  return {};
}

constexpr std::array kChallenges{
    ChallengeRow{"faster", "Make this 10 times faster",
                 "The training goes on with the simplest kernels. Choose faster ones in Kernels until it "
                 "makes ten times "
                 "the images/s, or nearly as many as before.",
                 "kernels", why_not_slow, begin_slow, follow_slow},
    ChallengeRow{
        "diverge", "Why did it diverge?",
        "Something is changed, and the loss leaps. Find it, by curves and Distributions, and bring the "
        "loss below what it was.",
        "distributions", why_not_diverging, begin_diverging, follow_diverging},
    ChallengeRow{
        "adam", "Beat Adam",
        "Adam shows 200 steps from new weights. Then reach its loss in fewer, from the same: another "
        "rate, which Finder suggests, a schedule, an optimizer. Ctrl Z brings your training back.",
        "training", why_no_challenge, begin_adam, follow_adam},
};

}  // namespace

std::span<const ChallengeRow> challenges() {
  return kChallenges;
}

void RecentLoss::take(const Snapshot& snapshot) {
  const auto loss = static_cast<double>(snapshot.last[training::Metric::loss]);
  const bool other = snapshot.generation != generation_ || snapshot.step < step_;
  if (other) begun_ = false;
  generation_ = snapshot.generation;
  if (snapshot.step == 0 || !std::isfinite(loss) || (!other && snapshot.step == step_)) return;
  const auto steps = static_cast<double>(snapshot.step - step_);
  mean_ = begun_ ? loss + (mean_ - loss) * std::exp(-steps / kLossSteps) : loss;
  if (!begun_) first_ = snapshot.step;
  step_ = snapshot.step;
  begun_ = true;
}

std::optional<double> RecentLoss::mean() const {
  const bool enough = begun_ && static_cast<double>(step_ - first_) >= kLossSteps;
  return enough ? std::optional(mean_) : std::nullopt;
}

Challenge::Challenge(const ChallengeRow& row, const Snapshot& now)
    : generation(now.generation), divergence(now.divergence.id), row_(&row) {}

std::vector<Command> Challenge::follow(const Snapshot& snapshot) {
  if (done_) return {};
  loss_.take(snapshot);
  return row_->follow(*this, snapshot);
}

std::string Challenge::line() const {
  const bool asks = std::string_view(row_->title).ends_with('?');
  return fmt::format("{}{} {}", row_->title, asks ? "" : ":", told_);
}

}  // namespace warpscope::ui
