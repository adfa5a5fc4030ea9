#include "gpu/settings/stability.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::stability_test {
namespace {

using core::BadInput;
using nlohmann::json;
using tests::holds;
using tests::message_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A falling loss with Gaussian noise of 5 %.
double noisy_loss(std::uint64_t step) {
  const double normal = std::sqrt(-2 * std::log(core::random_unit(1, 2 * step))) *
                        std::cos(2 * std::numbers::pi * core::random_unit(1, 2 * step + 1));
  return (0.2 + 0.8 * std::exp(-static_cast<double>(step) / 500)) * (1 + 0.05 * normal);
}

TEST(SpikeMonitor, KeepsTheWeightedMeanAndVariance) {
  const SpikeSettings settings{.threshold = 0, .decay = 0.9};
  SpikeState state;
  std::vector<double> losses;
  std::vector<double> weights;
  for (std::uint64_t n = 1; n <= 200; ++n) {
    losses.push_back(noisy_loss(n));
    const double newest = std::max(0.1, 1 / static_cast<double>(n));
    for (double& weight : weights) weight *= 1 - newest;
    weights.push_back(newest);
    observe(settings, state, losses.back(), false);
    double mean = 0;
    double variance = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) mean += weights[i] * losses[i];
    for (std::size_t i = 0; i < losses.size(); ++i) variance += weights[i] * std::pow(losses[i] - mean, 2);
    ASSERT_NEAR(state.mean, mean, 1e-12) << n;
    ASSERT_NEAR(state.variance, variance, 1e-12) << n;
  }
  EXPECT_EQ(state.count, 200u);
}

TEST(SpikeMonitor, SeesASpikeAndNothingElse) {
  const SpikeSettings settings{.threshold = 8};
  SpikeState state;
  for (std::uint64_t step = 0; step < 5000; ++step) {
    const bool spike = step == 3000 || step == 3001 || step == 4000;  // the first must not hide the second
    const double loss = noisy_loss(step) * (spike ? 3 : 1);
    const double mean = state.mean;
    const Verdict verdict = observe(settings, state, loss, false);
    ASSERT_EQ(verdict.stability, spike ? Stability::spike : Stability::fine) << step << ", z " << verdict.z;
    EXPECT_EQ(verdict.mean, mean);
    if (spike) {
      EXPECT_GT(verdict.z, 20);
    }
  }
}

TEST(SpikeMonitor, ASuddenFallIsNoSpike) {
  const SpikeSettings settings{.threshold = 4};
  SpikeState state;
  for (std::uint64_t step = 0; step < 100; ++step)
    observe(settings, state, 1 + 0.01 * noisy_loss(step), false);
  const Verdict verdict = observe(settings, state, 0.1, false);
  EXPECT_EQ(verdict.stability, Stability::fine);
  EXPECT_LT(verdict.z, -50);
}

TEST(SpikeMonitor, IsSilentWhileItWarmsUpAndWhenOff) {
  SpikeState state;
  const SpikeSettings warming{.threshold = 3, .warm_up = 20};
  for (int step = 0; step < 20; ++step) {
    EXPECT_EQ(observe(warming, state, step == 10 ? 100 : 1, false).stability, Stability::fine) << step;
  }
  EXPECT_EQ(observe(warming, state, 1000, false).stability, Stability::spike);
  SpikeState off;
  for (int step = 0; step < 200; ++step) {
    EXPECT_EQ(observe({}, off, step == 150 ? 1e6 : 1, false).stability, Stability::fine);
  }
  SpikeState eager;
  EXPECT_EQ(observe({.threshold = 3, .warm_up = 0}, eager, 5, false).stability, Stability::fine)
      << "there is nothing to compare the first loss with";
}

TEST(SpikeMonitor, TellsALossThatIsNotFiniteAlways) {
  SpikeState state;
  for (const double loss : {kNan, kInfinity, -kInfinity}) {
    for (const bool skipped : {false, true}) {
      EXPECT_EQ(observe({}, state, loss, skipped).stability, Stability::not_finite);
    }
  }
  EXPECT_EQ(state, SpikeState{});
}

TEST(SpikeMonitor, SkippedStepsLeaveItAsItIs) {
  const SpikeSettings settings{.threshold = 5, .warm_up = 10};
  SpikeState state;
  for (std::uint64_t step = 0; step < 50; ++step) observe(settings, state, noisy_loss(step), false);
  const SpikeState before = state;
  EXPECT_EQ(observe(settings, state, 100, true).stability, Stability::fine);
  EXPECT_EQ(state, before);
}

TEST(SpikeMonitor, ALossAtRestIsNotUnstable) {
  const SpikeSettings settings{.threshold = 5};
  SpikeState state;
  for (int step = 0; step < 1000; ++step) observe(settings, state, 0.5, false);
  EXPECT_EQ(observe(settings, state, 0.502, false).stability, Stability::fine);  // 4 least deviations
  EXPECT_EQ(observe(settings, state, 0.51, false).stability, Stability::spike);
  SpikeState zero;
  for (int step = 0; step < 1000; ++step) observe(settings, zero, 0, false);
  const Verdict verdict = observe(settings, zero, 1, false);
  EXPECT_EQ(verdict.stability, Stability::spike);
  EXPECT_TRUE(std::isfinite(verdict.z));
}

TEST(SpikeMonitor, ALastingNewLevelBecomesNormal) {
  const SpikeSettings settings{.threshold = 6};
  SpikeState state;
  for (std::uint64_t step = 0; step < 500; ++step)
    observe(settings, state, 1 + 0.1 * noisy_loss(step), false);
  int spikes = 0;
  for (std::uint64_t step = 0; step < 300; ++step) {
    spikes += observe(settings, state, 3 + 0.1 * noisy_loss(step), false).stability == Stability::spike;
  }
  EXPECT_GE(spikes, 1);
  EXPECT_LT(spikes, 50);
  EXPECT_EQ(observe(settings, state, 3, false).stability, Stability::fine);
}

/// Steps until `losses` have leapt; 0 if they never do.
std::size_t steps_to_leap(const SpikeSettings& settings, const std::vector<double>& losses) {
  SpikeState state;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (observe(settings, state, losses[i], false).stability == Stability::leap) return i + 1;
  }
  return 0;
}

TEST(Leap, IsSeenWithinAFewSteps) {
  std::vector<double> losses(100, 0.02);
  for (int i = 0; i < 20; ++i) losses.push_back(1e11 / (1 + i));
  EXPECT_EQ(steps_to_leap({.guessing = 0.25}, losses), 105u);
  EXPECT_EQ(steps_to_leap({.leap = 0, .guessing = 0.25}, losses), 0u);
  EXPECT_EQ(steps_to_leap({}, losses), 105u) << "only the first loss tells";
}

TEST(Leap, IsSeenWhereSomeImagesAreStillRight) {
  std::vector<double> losses(100, 0.02);
  for (int i = 0; i < 20; ++i) losses.push_back(i % 3 == 0 ? 0.0 : 1e4);
  const std::size_t seen = steps_to_leap({.guessing = 2.3}, losses);
  EXPECT_GT(seen, 100u);
  EXPECT_LE(seen, 108u);
}

TEST(Leap, SingleWrongImagesOfATrainedNetworkAreNone) {
  std::vector<double> losses;
  for (std::uint64_t i = 0; i < 5000; ++i) losses.push_back(core::random_unit(3, i) < 0.2 ? 20.0 : 1e-7);
  losses[0] = 1e-7;  // it was trained before
  EXPECT_EQ(steps_to_leap({.guessing = 2.3}, losses), 0u);
}

TEST(Leap, FourBadStepsThatComeBackAreNone) {
  std::vector<double> losses(100, 1.0);
  for (int i = 0; i < 4; ++i) losses[50 + i] = 1e6;
  EXPECT_EQ(steps_to_leap({}, losses), 0u);
}

/// Steps until a network is told to have forgotten; 0 if it never is.
std::size_t steps_to_forget(const std::vector<double>& losses, std::size_t changed_at = 390) {
  SpikeState state;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (i == changed_at) watch_for_forgetting(state);
    const Stability stability = observe({.guessing = 2.3}, state, losses[i], false).stability;
    if (stability == Stability::forgotten) return i + 1;
    EXPECT_EQ(stability, Stability::fine) << i;
  }
  return 0;
}

/// 400 losses that fall to `level`, and `then`.
std::vector<double> learned(double level, const std::vector<double>& then) {
  std::vector<double> losses;
  for (int i = 0; i < 400; ++i) losses.push_back(2.3 * std::exp(-i / 20.0) + level);
  losses.insert(losses.end(), then.begin(), then.end());
  return losses;
}

TEST(Forgetting, IsSeenWithinTwentySteps) {
  EXPECT_EQ(steps_to_forget(learned(0.02, std::vector(40, 2.0))), 416u);
  EXPECT_EQ(steps_to_forget(learned(0.8, std::vector(40, 2.3))), 416u);
  // A small network whose rate was dragged to 0.039.
  const std::vector<double> dragged{35.17, 7.41, 5.27, 4.77, 4.18, 2.74, 2.13, 1.81, 1.80, 1.47,
                                    1.71,  1.20, 1.81, 1.53, 1.46, 1.81, 1.45, 1.62, 1.23, 1.22};
  EXPECT_EQ(steps_to_forget(learned(0.2, dragged)), 417u);
}

TEST(Forgetting, NothingElseIsTakenForIt) {
  EXPECT_EQ(steps_to_forget(std::vector(500, 2.3)), 0u) << "it has learned nothing yet";
  std::vector<double> bad_start(100, 6.0);
  bad_start[0] = 2.3;
  EXPECT_EQ(steps_to_forget(bad_start), 0u);
  EXPECT_EQ(steps_to_forget(learned(0.02, std::vector(500, 1.1))), 0u) << "as with stronger augmentation";
  EXPECT_EQ(steps_to_forget(learned(0.8, std::vector(500, 1.4))), 0u) << "no twice as high";
  std::vector<double> slowly;
  for (int i = 0; i < 2000; ++i) slowly.push_back(0.02 + i / 800.0);
  EXPECT_EQ(steps_to_forget(learned(0.02, slowly)), 0u);
  std::vector<double> single;
  for (std::uint64_t i = 0; i < 5000; ++i) single.push_back(core::random_unit(3, i) < 0.3 ? 5.0 : 1e-7);
  EXPECT_EQ(steps_to_forget(learned(0.02, single)), 0u) << "batches of one image";
  const std::vector<double> forgets = learned(0.02, std::vector(40, 2.0));
  EXPECT_EQ(steps_to_forget(forgets, forgets.size()), 0u) << "nobody changed the optimizer";
  EXPECT_EQ(steps_to_forget(forgets, 200), 0u) << "that was long ago";
}

TEST(Forgetting, IsWatchedForFromTheFirstLossAndOverAnotherStart) {
  for (const bool restarts : {false, true}) {
    SpikeState state;
    watch_for_forgetting(state);
    std::vector<double> losses(60, 0.02);
    losses.insert(losses.end(), 20, 2.0);
    std::size_t seen = 0;
    for (std::size_t i = 0; i < losses.size() && seen == 0; ++i) {
      if (restarts && i == 30) restart(state);
      if (observe({.guessing = 2.3}, state, losses[i], false).stability == Stability::forgotten) seen = i + 1;
    }
    EXPECT_EQ(seen, 76u) << restarts;
  }
}

TEST(Forgetting, TheBoundHoldsForAllLossesThatCount) {
  SpikeState state;
  watch_for_forgetting(state);
  for (int i = 0; i < 100; ++i) observe({.guessing = 2.3}, state, 0.54, false);
  std::vector<double> losses;
  Verdict verdict;
  while (verdict.stability == Stability::fine && losses.size() < 40) {
    losses.push_back(1.16 +
                     0.02 * static_cast<double>(losses.size()));  // as twice their mean rises, so do they
    verdict = observe({.guessing = 2.3}, state, losses.back(), false);
  }
  ASSERT_EQ(verdict.stability, Stability::forgotten);
  EXPECT_GE(std::count_if(losses.begin(), losses.end(), [&](double loss) { return loss > verdict.bound; }),
            kForgetting);
}

TEST(Forgetting, IsToldInWords) {
  EXPECT_EQ(
      describe({.stability = Stability::forgotten, .bound = 1.15}, 812, 2.01),
      "the network has forgotten what it had learned: the loss of step 812 is 2.01, and of the last 20 "
      "steps at least 16 were above 1.15, half the loss of a network that has learned nothing, and above "
      "twice the mean before them");
}

TEST(Leap, IsToldInWords) {
  SpikeState state;
  Verdict verdict;
  for (int i = 0; i < 6; ++i) verdict = observe({.guessing = 0.25}, state, i == 0 ? 0.1 : 1e11, false);
  EXPECT_TRUE(holds(describe(verdict, 812, 1e11), {"leapt to 1e+11 at step 812", "above 2.5"}));
}

TEST(Leap, GoesOnFromJson) {
  SpikeState state;
  for (int i = 0; i < 4; ++i) observe({}, state, i == 0 ? 0.1 : 1e11, false);
  SpikeState back = json(state).get<SpikeState>();
  EXPECT_EQ(back, state);
}

TEST(SpikeMonitor, GoesOnFromJson) {
  const SpikeSettings settings{.threshold = 5};
  SpikeState whole;
  SpikeState resumed;
  for (std::uint64_t step = 0; step < 100; ++step) {
    observe(settings, whole, noisy_loss(step), false);
    resumed = json::parse(json(resumed).dump()).get<SpikeState>();
    observe(settings, resumed, noisy_loss(step), false);
    ASSERT_EQ(whole, resumed);
  }
  for (const char* text :
       {"3", R"({"mean":1,"variance":1})", R"({"mean":null,"variance":1,"count":1})",
        R"({"mean":1,"variance":-1,"count":1})", R"({"mean":1,"variance":1,"count":-1})"}) {
    EXPECT_TRUE(holds(message_of<BadInput>([&] { json::parse(text).get_to(resumed); }), {"spike monitor"}))
        << text;
  }
  EXPECT_EQ(whole, resumed);
}

TEST(SpikeMonitor, DescribesWhatItSaw) {
  EXPECT_EQ(describe({}, 1, 1), "");
  for (const double nan : {kNan, -kNan})
    EXPECT_EQ(describe({Stability::not_finite, 0, 1}, 812, nan), "the loss of step 812 is not finite (nan)");
  EXPECT_EQ(describe({Stability::spike, 9.23, 0.52}, 812, 3.41),
            "the loss of step 812, 3.41, is 9.2 standard deviations above its mean of 0.52");
  EXPECT_TRUE(
      holds(describe({Stability::spike, 9.23, 0.52}, 21763, 3.41), {"the loss of step 21,763, 3.41,"}))
      << "as steps are written everywhere";
}

TEST(SpikeMonitor, RefusesSettingsOutOfRange) {
  EXPECT_NO_THROW(check(SpikeSettings{}));
  EXPECT_TRUE(holds(message_of<BadInput>([] { check(SpikeSettings{.threshold = -1}); }), {"-1", "above 0"}));
  EXPECT_TRUE(holds(message_of<BadInput>([] { check(SpikeSettings{.threshold = kNan}); }), {"nan"}));
  EXPECT_TRUE(
      holds(message_of<BadInput>([] { check(SpikeSettings{.decay = 1}); }), {"decay of 1", "below 1"}));
}

TEST(StopRules, StopsWhenTheLossNoLongerImproves) {
  const StopRules rules{.patience = 3};
  StopState state;
  for (const double loss : {1.0, 0.9, 0.95, 0.9, 0.8, 0.81, kNan}) {
    EXPECT_EQ(stop_after_evaluation(rules, state, loss, "test"), "") << loss;
  }
  EXPECT_EQ(state, (StopState{.best = 0.8, .without = 2}));
  EXPECT_EQ(stop_after_evaluation(rules, state, 0.8, "test"),
            "the test loss has not improved for 3 evaluations");
}

TEST(StopRules, AnImprovementMustBeLargeEnough) {
  const StopRules rules{.patience = 1, .least_improvement = 0.1};
  StopState state;
  EXPECT_EQ(stop_after_evaluation(rules, state, 1, "validation"), "");
  EXPECT_EQ(stop_after_evaluation(rules, state, 0.85, "validation"), "");
  EXPECT_EQ(stop_after_evaluation(rules, state, 0.76, "validation"),
            "the validation loss has not improved for 1 evaluation");
  EXPECT_EQ(state.best, 0.85);
}

TEST(StopRules, StopsAtTheTarget) {
  const StopRules rules{.patience = 0, .target_loss = 0.01};
  StopState state;
  EXPECT_EQ(stop_after_evaluation(rules, state, 0.011, "test"), "");
  EXPECT_EQ(stop_after_evaluation(rules, state, kNan, "test"), "");
  EXPECT_EQ(stop_after_evaluation(rules, state, 0.0098, "test"),
            "the test loss 0.0098 has reached its target of 0.01");
  EXPECT_NE(stop_after_evaluation(rules, state, 0.01, "test"), "");
}

TEST(StopRules, StopsAtTheTargetAccuracy) {
  const StopRules rules{.target_accuracy = 0.9};
  EXPECT_TRUE(any(rules));
  EXPECT_EQ(stop_at_accuracy(rules, 0.899, "test"), "");
  EXPECT_EQ(stop_at_accuracy(rules, kNan, "test"), "");
  EXPECT_EQ(stop_at_accuracy({}, 1, "test"), "");
  EXPECT_EQ(stop_at_accuracy(rules, 0.9125, "test"),
            "the test accuracy 0.9125 has reached its target of 0.9");
  EXPECT_TRUE(
      holds(message_of<BadInput>([] { check(StopRules{.target_accuracy = 1.5}); }), {"accuracy", "1.5"}));
}

TEST(StopRules, HoldForARunThatGoesOn) {
  StopState state;
  EXPECT_EQ(stop_after_evaluations({.patience = 1, .target_loss = 1}, state, "test"), "")
      << "nothing was evaluated";
  stop_after_evaluation({}, state, 0.5, "test");
  stop_after_evaluation({}, state, 0.75, "test");
  EXPECT_EQ(stop_after_evaluations({.target_loss = 0.75}, state, "test"),
            "the test loss 0.75 has reached its target of 0.75");
  EXPECT_EQ(stop_after_evaluations({.target_loss = 0.5}, state, "test"), "")
      << "it was there once, but is not now";
  EXPECT_EQ(stop_after_evaluations({.patience = 1}, state, "test"),
            "the test loss has not improved for 1 evaluation");
  EXPECT_EQ(stop_after_evaluations({.patience = 2}, state, "test"), "");
  EXPECT_EQ(stop_after_evaluations({.target_accuracy = 0.9}, state, "test"), "") << "it does not classify";
  state.accuracy = 0.9;
  EXPECT_EQ(stop_after_evaluations({.target_accuracy = 0.9}, state, "test"),
            "the test accuracy 0.9 has reached its target of 0.9");
  EXPECT_EQ(json::parse(R"({"best":1,"without":0})").get<StopState>().last, std::nullopt)
      << "as once written";
}

TEST(StopRules, StopsWhenTheTimeIsUp) {
  const StopRules rules{.seconds = 5400};
  EXPECT_EQ(stop_after_time(rules, 5399.9), "");
  EXPECT_EQ(stop_after_time(rules, 5400), "the time budget of 1h30m is used up");
}

TEST(StopRules, NeverStopsByDefault) {
  StopState state;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(stop_after_evaluation({}, state, 0, "test"), "");
  EXPECT_EQ(stop_after_time({}, 1e12), "");
}

TEST(StopRules, StateGoesThroughJson) {
  for (const StopState& state :
       {StopState{}, StopState{.best = 0.1 + 0.2, .without = 4, .last = 0.7, .accuracy = 0.8}}) {
    EXPECT_EQ(json::parse(json(state).dump()).get<StopState>(), state);
  }
  StopState state;
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { json::parse(R"({"best":1})").get_to(state); }), {"early stop"}));
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { json::parse(R"({"best":1,"without":-1})").get_to(state); }), {"-1"}));
}

TEST(StopRules, RefusesRulesOutOfRange) {
  EXPECT_NO_THROW(check(StopRules{}));
  EXPECT_TRUE(holds(message_of<BadInput>([] { check(StopRules{.patience = -1}); }), {"-1 evaluations"}));
  EXPECT_TRUE(holds(message_of<BadInput>([] { check(StopRules{.least_improvement = -0.5}); }), {"-0.5"}));
  EXPECT_TRUE(holds(message_of<BadInput>([] { check(StopRules{.target_loss = kNan}); }), {"target", "nan"}));
  EXPECT_TRUE(holds(message_of<BadInput>([] { check(StopRules{.seconds = -1}); }), {"time budget", "-1"}));
}

TEST(TimeSpan, ReadsAllForms) {
  EXPECT_EQ(parse_time_span("90"), 90);
  EXPECT_EQ(parse_time_span("0"), 0);
  EXPECT_EQ(parse_time_span("90s"), 90);
  EXPECT_EQ(parse_time_span("15m"), 900);
  EXPECT_EQ(parse_time_span("2h"), 7200);
  EXPECT_EQ(parse_time_span("1h30m"), 5400);
  EXPECT_EQ(parse_time_span("1h30m5s"), 5405);
  EXPECT_EQ(parse_time_span("1h5s"), 3605);
  EXPECT_EQ(parse_time_span("1.5h"), 5400);
  EXPECT_EQ(parse_time_span("0.25"), 0.25);
}

TEST(TimeSpan, RefusesWhatIsNone) {
  for (const char* text : {"", "h", "m5", "5x", "-5", "1h30", "30m1h", "1h2h", "5 m", "1e3", "1..5", ".",
                           "nan", "5m ", "1d", "90ss"}) {
    EXPECT_TRUE(holds(message_of<BadInput>([&] { parse_time_span(text); }), {"time span", "1h30m"})) << text;
  }
}

TEST(TimeSpan, PrintsWhatItReadsBack) {
  EXPECT_EQ(format_time_span(0), "0s");
  EXPECT_EQ(format_time_span(90), "1m30s");
  EXPECT_EQ(format_time_span(5400), "1h30m");
  EXPECT_EQ(format_time_span(3605.25), "1h5.25s");
  EXPECT_EQ(format_time_span(59.9996), "1m");
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const double seconds = std::floor(1e8 * core::random_unit(9, i)) / 1000;
    ASSERT_NEAR(parse_time_span(format_time_span(seconds)), seconds, 1e-6);
  }
}

}  // namespace
}  // namespace warpscope::training::stability_test
