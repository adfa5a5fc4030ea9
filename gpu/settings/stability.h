#pragma once
// When training should pause or end: losses that are not finite or jump, and the rules of early stopping,
// target loss and time budget.
//
// The spike monitor keeps a mean and a variance of the loss in which the weight of a step decays
// exponentially. With x the n-th loss and a = max(1 - decay, 1 / n), so that the start is a plain mean and
// needs no bias correction:
//
//   z = (x - mean) / max(sqrt(variance), kLeastDeviation |mean|)
//   d = x - mean;  mean += a d;  variance = (1 - a) (variance + a d^2)
//
// A loss is a spike if z is above the threshold. It then enters the statistics as if it were at the
// threshold: one outlier does not widen them, and a lasting new level becomes normal in time.
//
// A loss leaps if of the last kWatched losses kLeaping are above `leap` times that of a network that has learned
// nothing: its first loss, or that of guessing, whichever is higher. Single losses of small batches may be, but not so
// many, whatever the optimizer.
//
// A network has forgotten if of the last kWatchedLong losses kForgetting are above half of that of one that has learned
// nothing, and each of these above twice the mean of some 200 steps before it, which was below that half and to which
// no loss adds more than that of one that has learned nothing. Updates that a person has made larger can leave a
// network whose loss is that of guessing from then on, after too few high ones for a leap. This is watched only for
// kWatchedAfterChange losses after watch_for_forgetting(): some optimizers forget by themselves in small batches, and
// learn it again.
//
// Source: T. Finch, "Incremental calculation of weighted mean and variance" (2009).

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace warpscope::training {

/// Share of the mean that counts as one standard deviation at least: a loss that has come to rest is not
/// unstable because it moves in its fourth digit.
inline constexpr double kLeastDeviation = 1e-3;

/// Losses that are watched together for a leap, and how many of them must be too high.
inline constexpr int kWatched = 8, kLeaping = 5;

/// Losses that are watched together for a network that has forgotten, and how many of them must be too high.
inline constexpr int kWatchedLong = 20, kForgetting = 16;
inline constexpr std::uint64_t kWatchedAfterChange = 200;

struct SpikeSettings {
  /// Times the loss of a network that has learned nothing; 0: neither leaps nor networks that forget are looked for.
  double leap = 10;
  double guessing = 0;         ///< loss of a network that guesses; 0: it is not known
  double threshold = 0;        ///< standard deviations above the mean; 0: spikes are not looked for
  double decay = 0.98;         ///< of a loss's weight from step to step: a memory of 1 / (1 - decay) steps
  std::uint64_t warm_up = 50;  ///< losses before the first one that can be a spike

  bool operator==(const SpikeSettings&) const = default;
};

/// Throws BadInput that names the value out of range and what is valid: threshold and leap at least 0, decay in [0,
/// 1).
void check(const SpikeSettings& settings);

/// What the monitor remembers.
struct SpikeState {
  double mean = 0;
  double variance = 0;
  std::uint64_t count = 0;
  double first = 0;  ///< the first loss
  std::uint32_t leaps =
      0;             ///< a bit for each of the last kWatched losses, the newest lowest: it was too high
  double level = 0;  ///< the mean of some 200 steps
  std::uint32_t forgotten = 0;  ///< as `leaps`, of the last kWatchedLong losses
  std::uint64_t watched = 0;    ///< losses that are still watched for a network that has forgotten

  bool operator==(const SpikeState&) const = default;
};

enum class Stability : std::uint8_t { fine, not_finite, spike, leap, forgotten };

struct Verdict {
  Stability stability = Stability::fine;
  /// The loss's, whatever the verdict; 0 if not finite, during warm-up, or if nothing is looked for.
  double z = 0;
  double mean = 0;   ///< of the losses before it
  double bound = 0;  ///< what the losses of a leap, or of a network that has forgotten, are above
};

/// A person has changed the optimizer or the schedule: kWatchedAfterChange losses are watched from now on.
void watch_for_forgetting(SpikeState& state);

/// The statistics begin anew: after a change of model or data, or when training goes on after a spike. What is watched
/// for stays.
void restart(SpikeState& state);

/// Judges the loss of one step and takes it into `state`. A loss that is not finite is told always, and
/// leaves the statistics as they are; so does a step whose update was skipped (gradient overflow), which can
/// be no spike. Steps that are missing in between (losses that were not kept) do no harm.
Verdict observe(const SpikeSettings& settings, SpikeState& state, double loss, bool skipped);

/// "the loss of step 812 is not finite (nan)", "the loss of step 812, 3.41, is 9.2 standard deviations above
/// its mean of 0.52", "the loss has leapt to 1.3e+11 at step 812: ...", "the network has forgotten ..."; ""
/// if fine.
std::string describe(const Verdict& verdict, std::uint64_t step, double loss);

/// For checkpoints. from_json throws BadInput that names the field and what is valid; `state` is then
/// unchanged.
void to_json(nlohmann::json& json, const SpikeState& state);
void from_json(const nlohmann::json& json, SpikeState& state);

/// When a run ends by itself, beside its number of epochs or steps.
struct StopRules {
  int patience = 0;              ///< evaluations without improvement after which it ends; 0: never
  double least_improvement = 0;  ///< what the loss must fall by to have improved
  std::optional<double> target_loss = std::nullopt;  ///< it ends once an evaluation is at or below this
  double seconds = 0;                                ///< of training; 0: no limit
  double target_accuracy = 0;  ///< it ends once an evaluation tells so large a share right; 0: none

  bool operator==(const StopRules&) const = default;
};

/// Whether any of them can end a run.
bool any(const StopRules& rules);

/// Throws BadInput that names the value out of range and what is valid.
void check(const StopRules& rules);

/// What the rules remember between evaluations.
struct StopState {
  /// Lowest loss that counted as an improvement; nothing before the first.
  std::optional<double> best = std::nullopt;
  int without = 0;  ///< evaluations since
  /// That of the newest evaluation; nothing before the first, or where it was not finite.
  std::optional<double> last = std::nullopt;
  std::optional<double> accuracy = std::nullopt;  ///< of the newest evaluation, of a run that classifies

  bool operator==(const StopState&) const = default;
};

/// Takes the loss of an evaluation into `state`; `which` names it ("test", "validation"). Returns why the run
/// ends: "the test loss has not improved for 5 evaluations", "the test loss 0.0098 has reached its target of
/// 0.01"; "" if it goes on. A loss that is not finite is no improvement.
std::string stop_after_evaluation(const StopRules& rules, StopState& state, double loss,
                                  std::string_view which);

/// The same of what `state` remembers, for a run that goes on: "" if it has not ended by these rules.
std::string stop_after_evaluations(const StopRules& rules, const StopState& state, std::string_view which);

/// "the test accuracy 0.912 has reached its target of 0.9", for a share of images from 0 to 1, or "".
std::string stop_at_accuracy(const StopRules& rules, double accuracy, std::string_view which);

/// "the time budget of 1h30m is used up" once `seconds` of training have passed, else "".
std::string stop_after_time(const StopRules& rules, double seconds);

void to_json(nlohmann::json& json, const StopState& state);
void from_json(const nlohmann::json& json, StopState& state);

/// Seconds of "90", "90s", "15m", "2h", "1h30m", "1.5h": units from large to small, each once. Throws
/// BadInput that lists the valid forms.
double parse_time_span(std::string_view text);

/// "1h30m", "90s" as "1m30s", "0.25s"; parse_time_span reads it back, to the millisecond.
std::string format_time_span(double seconds);

}  // namespace warpscope::training
