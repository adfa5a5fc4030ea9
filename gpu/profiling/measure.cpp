#include "gpu/profiling/measure.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/ops/cost.h"

namespace warpscope::profiling {
namespace {

/// What proofs compare with, in double precision: it is no faster anywhere that matters.
constexpr std::string_view kProof = "reference";
constexpr std::size_t kMostTrials = 4;
constexpr std::size_t kMostSamples = 21;
constexpr std::size_t kFewestSamples = 5;
constexpr double kShareOfTrials = 0.6;  ///< of the time; the rest is for whole steps
constexpr double kTurnSeconds = 0.01;
constexpr int kMostTurns = 12;
constexpr int kFewestTurns = 5;
constexpr int kTurnsBefore = 2;  ///< that a contest takes to prepare

/// A call that may take longer than this share of the time at the slowest is not tried.
constexpr double kShareOfCall = 0.025;

/// Operations and bytes a second of the slowest variants: of plain loops on one core, and of a thread an element.
struct SlowestSpeed {
  double flops;
  double bytes;
};
constexpr SlowestSpeed kSlowestCpu{5e8, 5e8};
constexpr SlowestSpeed kSlowestGpu{2e11, 2e10};

using Alternatives = std::map<std::string, std::vector<const ops::Variant*>>;

/// Times steps of one network within its time.
class Measuring {
 public:
  Measuring(const ops::Context& context, const models::Model& model, const StepSetup& setup,
            const plan::Selection& selection, const MeasureOptions& options)
      : context_(context),
        model_(model),
        setup_(setup),
        selection_(selection),
        options_(options),
        stream_(context.device->make_stream()),
        stopwatch_(options.stopwatch(*context.device, *stream_)),
        start_(stopwatch_.seconds()),
        memory_(context.device, *stream_, model, setup, selection.precision) {}

  Measurement run() {
    rules_ = make({});
    const Alternatives alternatives = alternatives_of(rules_->nodes());
    if (alternatives.empty()) return by_rules("nothing else runs here", true);
    std::vector<Trial> trials;
    const double deadline = kShareOfTrials * options_.seconds;
    if (!warm_up(*rules_, deadline)) return short_of_time();
    const std::size_t count = trials_of(alternatives);
    for (std::size_t t = 0; t < count && passed() < deadline; ++t) {
      const double left = deadline - passed();
      if (auto trial = time_trial(choices_of_trial(alternatives, t),
                                  passed() + left / static_cast<double>(count - t))) {
        trials.push_back(std::move(*trial));
      }
    }
    if (trials.empty() && !failure_.empty()) return by_rules("others did not run: " + failure_, false);
    if (trials.empty()) return short_of_time();
    return confirm(decide(described(*rules_), trials, selection_.precision));
  }

 private:
  double passed() const { return stopwatch_.seconds() - start_; }
  bool stopped() const { return options_.go_on && !options_.go_on(); }

  static Measurement by_rules(std::string why, bool final) {
    Measurement result;
    result.why_rules = std::move(why);
    result.final = final;
    return result;
  }
  Measurement short_of_time() const {
    return by_rules(stopped() ? "it was stopped" : "a step takes too long for the time that measuring has",
                    false);
  }

  std::unique_ptr<plan::Plan> make(const plan::MeasuredChoices& choices) const {
    return make_step(context_, *stream_, model_, setup_, selection_, memory_, choices);
  }

  static Trial described(const plan::Plan& step) {
    Trial trial;
    trial.nodes = step.nodes();
    for (std::size_t n = 0; n < trial.nodes.size(); ++n) {
      trial.private_tensors.push_back(step.private_tensors(n));
    }
    return trial;
  }

  bool may_be_tried(const ops::Variant& variant, const plan::PlanNode& node) const {
    if (&variant == node.variant || !variant.deterministic || !variant.far_means || variant.name == kProof ||
        ops::is_users(variant))
      return false;
    const core::DeviceInfo& device = context_.device->info();
    const ops::OpShape own = ops::by_itself(node.shape);
    const ops::OpShape* const shape = variant.chain.empty() ? &own : nullptr;
    if (!ops::unavailable_reason(variant, device, selection_.precision, shape).empty()) return false;
    if (variant.library) return true;
    const SlowestSpeed slowest = device.kind == core::DeviceKind::cpu ? kSlowestCpu : kSlowestGpu;
    const double flops = ops::formula_flops(*node.variant, node.shape).of(ops::contract(node.op).work);
    const double bytes = ops::minimum_bytes(*node.variant, node.shape, selection_.precision);
    return flops / slowest.flops + bytes / slowest.bytes < kShareOfCall * options_.seconds;
  }

  /// Other variants of each call: those of libraries, then ours from the last in the table on.
  Alternatives alternatives_of(const std::vector<plan::PlanNode>& nodes) const {
    Alternatives found;
    for (const plan::PlanNode& node : nodes) {
      if (node.variant == nullptr || selection_.variants.contains(node.op)) continue;
      auto all = ops::variants_of(*context_.variants, node.op, context_.device->kind());
      std::erase_if(all, [&](const ops::Variant* each) { return !may_be_tried(*each, node); });
      if (all.empty()) continue;
      std::ranges::reverse(all);
      std::stable_partition(all.begin(), all.end(), [](const ops::Variant* each) { return each->library; });
      found.try_emplace(plan::call_key(node.op, selection_.precision, node.shape), std::move(all));
    }
    return found;
  }

  static std::size_t trials_of(const Alternatives& alternatives) {
    std::size_t most = 0;
    for (const auto& [key, variants] : alternatives) most = std::max(most, variants.size());
    return std::min(most, kMostTrials);
  }

  static plan::MeasuredChoices choices_of_trial(const Alternatives& alternatives, std::size_t trial) {
    plan::MeasuredChoices choices;
    for (const auto& [key, variants] : alternatives) {
      if (trial < variants.size()) choices[key].variant = variants[trial]->name;
    }
    return choices;
  }

  /// Runs a step once, call by call: it may load code, and may take very long. False if it does.
  bool warm_up(plan::Plan& step, double deadline) const {
    for (std::size_t n = 0; n < step.nodes().size(); ++n) {
      step.launch_node(n, *stream_);
      stream_->synchronize();
      if (stopped() || passed() > deadline) return false;
    }
    return true;
  }

  /// Steps of the trial and by the rules, one after the other; nothing if there is no time for enough of them, or it
  /// cannot run.
  std::optional<Trial> time_trial(const plan::MeasuredChoices& tried, double deadline) {
    try {
      const auto step = make(tried);
      Trial trial = described(*step);
      if (!warm_up(*step, deadline)) return std::nullopt;
      for (std::size_t i = 0; i <= kMostSamples; ++i) {
        if (stopped() || (passed() > deadline && i <= kFewestSamples)) return std::nullopt;
        if (passed() > deadline) break;
        std::vector<double> other = stopwatch_.time_nodes(*step);
        std::vector<double> rules = stopwatch_.time_nodes(*rules_);
        if (i == 0) continue;  // the first captures what is timed
        trial.times.push_back(std::move(other));
        trial.rules.push_back(std::move(rules));
      }
      return trial;
    } catch (const core::Error& error) {
      failure_ = error.what();  // too little memory, or a variant that cannot run here after all
      return std::nullopt;
    }
  }

  /// Keeps what makes whole steps faster.
  Measurement confirm(plan::MeasuredChoices choices) const {
    if (choices.empty()) return by_rules("no other variant is faster here", true);
    try {
      const auto step = make(choices);
      if (!warm_up(*step, options_.seconds)) return short_of_time();
      ContestOptions contest;
      contest.turn_seconds = kTurnSeconds;
      contest.seconds = options_.seconds - passed();
      const std::vector<double> nodes = stopwatch_.time_nodes(*rules_);
      const double turn = std::max(kTurnSeconds, 1e-6 * std::accumulate(nodes.begin(), nodes.end(), 0.0));
      contest.turns =
          static_cast<int>(std::min<double>(kMostTurns, contest.seconds / (2 * turn) - kTurnsBefore));
      if (contest.turns < kFewestTurns) return short_of_time();
      const auto held = stopwatch_.hold_contest(*rules_, *step, contest);
      if (!held) return short_of_time();
      return judged(*held, std::move(choices));
    } catch (const core::Error& error) {
      return by_rules(error.what(), false);
    }
  }

  static Measurement judged(const Contest& contest, plan::MeasuredChoices choices) {
    Measurement result;
    result.step_microseconds = contest.other.median;
    result.by_rules_microseconds = contest.present.median;
    result.final = contest.outcome != Outcome::disturbed;
    // Each call lies beyond the spread of the one by the rules; whole steps need only agree.
    if (result.final && contest.ratio > kLeastGain) {
      result.choices = std::move(choices);
    } else {
      result.why_rules = result.final ? "whole steps are no faster by other variants"
                                      : "other programs disturbed the measurement";
    }
    return result;
  }

  const ops::Context& context_;
  const models::Model& model_;
  const StepSetup& setup_;
  const plan::Selection& selection_;
  const MeasureOptions& options_;
  std::unique_ptr<core::Stream> stream_;
  Stopwatch stopwatch_;
  double start_;
  StepMemory memory_;
  std::unique_ptr<plan::Plan> rules_;
  std::string failure_;  ///< of the last trial that failed
};

}  // namespace

Stopwatch stopwatch_on(core::Device& device, core::Stream& stream) {
  return {[] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
          },
          [&stream](plan::Plan& step) {
            step.launch_timed(stream);
            stream.synchronize();
            return step.take_timings().value_or(std::vector<double>());
          },
          [&device, &stream](plan::Plan& rules, plan::Plan& other, const ContestOptions& options) {
            return hold_contest(device, stream, rules, other, options, {});
          }};
}

Measurement measure(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                    const plan::Selection& selection, const MeasureOptions& options) {
  context.device->make_current();
  return Measuring(context, model, setup, selection, options).run();
}

}  // namespace warpscope::profiling
