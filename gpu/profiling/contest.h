#pragma once
// Two choices of variants against each other: whole training steps of both, timed in turns (A B, B A, ...), so that
// what
// changes meanwhile (clocks, heat, other programs) meets both alike; and what may be said of the times.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/models/model.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/samples.h"
#include "gpu/profiling/step_bench.h"
#include "gpu/profiling/step_memory.h"

namespace warpscope::profiling {

enum class Outcome {
  faster,     ///< the other's times lie beyond the present's, by more than kLeastGain
  no_faster,  ///< they do not
  disturbed,  ///< the times spread so far, or waited so long, that they say nothing
};

struct Contest {
  Outcome outcome = Outcome::no_faster;
  Spread present;     ///< microseconds of a step, by turns
  Spread other;       ///< microseconds of a step, by turns
  double ratio = 0;   ///< how many times as fast the other is, by the medians
  double waited = 0;  ///< cores that this process waited for meanwhile, on average
};

/// From here on a measurement is disturbed: p10 to p90 over the median, and cores waited for. Less gain than the last
/// is none.
inline constexpr double kDisturbedSpread = 0.25;
inline constexpr double kDisturbedWaiting = 0.15;
inline constexpr double kLeastGain = 1.01;

/// The microseconds of a step in each turn of both.
Contest judge(const std::vector<double>& present, const std::vector<double>& other, double waited);

/// How long a contest takes.
struct ContestOptions {
  int turns = 12;              ///< of each, at most
  double turn_seconds = 0.02;  ///< of steps in a turn, but at least one step
  double seconds = 3;          ///< of both, but at least eight turns of each
};

/// Times `other` against `present`, which has the same precision. Nothing if `go_on` stopped it. Throws as plan::Plan.
std::optional<Contest> hold_contest(const ops::Context& context, const models::Model& model,
                                    const StepSetup& setup, const plan::Selection& present,
                                    const plan::Selection& other, const ContestOptions& options,
                                    const std::function<bool()>& go_on);

/// The same for two plans of steps, which must be on `stream`. They have run before or may be run to no effect.
std::optional<Contest> hold_contest(core::Device& device, core::Stream& stream, plan::Plan& present,
                                    plan::Plan& other, const ContestOptions& options,
                                    const std::function<bool()>& go_on);

/// What whole steps say of the choices that there are in a precision, against the one in use.
struct Advice {
  plan::Selection present;  ///< the one in use then
  plan::Selection
      best;  ///< the best of the others by times one after the other, which the contest holds against it
  std::string name;  ///< of `best`: "oneDNN", "fastest of each operation"
  Contest contest;
  std::string failure;  ///< why there was no contest; "" if there was
  models::Model model;
  StepSetup setup;
  std::chrono::system_clock::time_point measured;

  bool faster() const { return failure.empty() && contest.outcome == Outcome::faster; }
  /// The faster of the two.
  const plan::Selection& fastest() const { return faster() ? best : present; }
};

/// When it was measured: "14:02".
std::string time_of_day(const Advice& advice);

/// Holds the best of `steps` in the precision of `present` against it. Nothing if `go_on` stopped it.
std::optional<Advice> advise(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                             const plan::Selection& present, const std::vector<StepRow>& steps,
                             const ContestOptions& options, const std::function<bool()>& go_on);

/// "oneDNN is 1.12x faster: 812 µs a step, automatic 910 µs", "nothing is faster than automatic; ...",
/// "disturbed, so nothing is said: ...".
std::string verdict_text(const Advice& advice, const std::string& present_name);

}  // namespace warpscope::profiling
