#pragma once
// The fastest variants of a training's step by measurement: steps by other variants are timed node by node against one
// by the rules, in turns; what is faster is put together, and kept only if the median of whole steps is better too.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/models/model.h"
#include "gpu/plan/measured.h"
#include "gpu/plan/plan.h"
#include "gpu/profiling/contest.h"

namespace warpscope::profiling {

/// Microseconds of each node of a step, one entry a step; 0 for nodes that no call of their own runs.
using NodeSamples = std::vector<std::vector<double>>;

/// A step by other variants, and how it and the step by the rules did in turns.
struct Trial {
  std::vector<plan::PlanNode> nodes;
  std::vector<std::vector<int>> private_tensors;  ///< Plan::private_tensors() of each node
  NodeSamples rules;
  NodeSamples times;
};

/// Less gain of a call, or of calls that change together, is none.
inline constexpr double kLeastGainOfCalls = 1.05;

/// What is faster in some trial than by the rules, beyond the spread (p90 under p10) and by kLeastGainOfCalls. What one
/// call covers in some trial, or in the step by the rules, is compared as a whole, and so is what is tied by a
/// variant's own format. Groups of the same calls are summed up; of those that want different variants for a call the
/// one that gains more has its way.
plan::MeasuredChoices decide(const Trial& rules, const std::vector<Trial>& trials, core::Precision precision);

/// How measuring looks at the clock and at steps; tests have their own.
struct Stopwatch {
  std::function<double()> seconds;  ///< since any time
  /// Microseconds of each node of one more step.
  std::function<std::vector<double>(plan::Plan& step)> time_nodes;
  std::function<std::optional<Contest>(plan::Plan& rules, plan::Plan& other, const ContestOptions& options)>
      hold_contest;
};
Stopwatch stopwatch_on(core::Device& device, core::Stream& stream);

struct MeasureOptions {
  double seconds = 1;                ///< for all of it, but for the step that is under way then
  std::function<bool()> go_on = {};  ///< asked between steps; false stops, and nothing is chosen then
  std::function<Stopwatch(core::Device&, core::Stream&)> stopwatch = stopwatch_on;
};

/// What measuring came to.
struct Measurement {
  plan::MeasuredChoices choices;     ///< empty: the rules hold
  double step_microseconds = 0;      ///< with these; 0 where no whole steps were compared
  double by_rules_microseconds = 0;  ///< of a step by the rules, next to it
  std::string why_rules;             ///< in words; "" if there are choices
  bool final = true;  ///< another time would say the same: it was not disturbed, stopped or short of time
};

/// Chooses variants for the step of `selection` where that leaves the choice: among all that run there and are
/// deterministic, libraries' too. Never throws for a variant that fails; what fails or needs more memory than there is
/// is not chosen. Throws as plan::Plan where the step by the rules cannot be made.
Measurement measure(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                    const plan::Selection& selection, const MeasureOptions& options = {});

}  // namespace warpscope::profiling
