// What is said of whole steps that were timed in turns.

#include "gpu/profiling/contest.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/plan_memory.h"

namespace warpscope::profiling::contest_test {
namespace {

using Times = std::vector<double>;

TEST(Judge, FasterIsWhatLiesBeyondTheSpread) {
  const Contest contest = judge({100, 101, 102, 100, 103}, {90, 91, 92, 90, 91}, 0);
  EXPECT_EQ(contest.outcome, Outcome::faster);
  EXPECT_DOUBLE_EQ(contest.ratio, 101.0 / 91.0);
  EXPECT_DOUBLE_EQ(contest.present.median, 101);
  EXPECT_DOUBLE_EQ(contest.other.median, 91);
}

TEST(Judge, WhatOverlapsIsNoFaster) {
  EXPECT_EQ(judge({100, 104, 96, 102, 98}, {99, 95, 97, 101, 96}, 0).outcome, Outcome::no_faster);
}

TEST(Judge, AGainOfLessThanAHundredthIsNone) {
  EXPECT_EQ(judge({100.5, 100.5, 100.5}, {100, 100, 100}, 0).outcome, Outcome::no_faster);
  EXPECT_EQ(judge({102, 102, 102}, {100, 100, 100}, 0).outcome, Outcome::faster);
}

TEST(Judge, WhatIsSlowerIsNoFaster) {
  EXPECT_EQ(judge({90, 91, 92, 90, 91}, {100, 101, 102, 100, 103}, 0).outcome, Outcome::no_faster);
  EXPECT_EQ(judge({100, 100, 100}, {100, 100, 100}, 0).outcome, Outcome::no_faster);
}

TEST(Judge, WideSpreadsSayNothing) {
  const Times quiet{100, 101, 102, 100, 103};
  EXPECT_EQ(judge({100, 150, 101, 180, 170}, {50, 51, 52, 50, 51}, 0).outcome, Outcome::disturbed);
  EXPECT_EQ(judge(quiet, {50, 90, 51, 80, 70}, 0).outcome, Outcome::disturbed);
}

TEST(Judge, TimesOfAProcessThatWaitedForCoresSayNothing) {
  const Times slow{100, 101, 102, 100, 103};
  const Times fast{90, 91, 92, 90, 91};
  EXPECT_EQ(judge(slow, fast, kDisturbedWaiting / 2).outcome, Outcome::faster);
  EXPECT_EQ(judge(slow, fast, 2 * kDisturbedWaiting).outcome, Outcome::disturbed)
      << "steady load keeps spreads small";
}

Advice advice_of(const Contest& contest) {
  Advice advice;
  advice.present = {core::Precision::fp32, {}};
  advice.best = {core::Precision::fp32, {{ops::Op::relu_forward, "onednn"}}};
  advice.name = "oneDNN";
  advice.contest = contest;
  return advice;
}

TEST(Advice, OffersOnlyWhatIsFaster) {
  const Advice faster = advice_of(judge({100, 100, 100}, {80, 80, 80}, 0));
  EXPECT_EQ(faster.fastest(), faster.best);
  EXPECT_EQ(verdict_text(faster, "automatic"),
            "oneDNN is 1.25x faster: 80.0 \u00b5s a step, automatic 100 \u00b5s");
  const Advice slower = advice_of(judge({80, 80, 80}, {100, 100, 100}, 0));
  EXPECT_EQ(slower.fastest(), slower.present);
  EXPECT_EQ(
      verdict_text(slower, "automatic"),
      "nothing is faster than automatic; the best other, oneDNN: 100 \u00b5s a step, automatic 80.0 \u00b5s");
  const Advice disturbed = advice_of(judge({100, 200, 100}, {80, 80, 80}, 0));
  EXPECT_EQ(disturbed.fastest(), disturbed.present);
  EXPECT_EQ(verdict_text(disturbed, "automatic").substr(0, 29), "disturbed, so nothing is said");
}

TEST(Contest, TimesWholeStepsOfBothInTurns) {
  ContestOptions options;
  options.turns = 5;
  options.turn_seconds = 0.002;
  const auto contest = hold_contest(core::open_device("cpu"), models::find_model("mlp"), {.batch = 16},
                                    tests::all_of("loops"), tests::all_of("onednn"), options, {});
  ASSERT_TRUE(contest);
  EXPECT_EQ(contest->present.samples, 5);
  EXPECT_EQ(contest->other.samples, 5);
  EXPECT_GT(contest->other.median, 0);
  EXPECT_DOUBLE_EQ(contest->ratio, contest->present.median / contest->other.median);
}

TEST(Contest, StopsBetweenTurns) {
  int calls = 0;
  const auto contest = hold_contest(core::open_device("cpu"), tests::tiny_model(), {.batch = 2},
                                    tests::all_of("loops"), {}, {}, [&] { return ++calls < 4; });
  EXPECT_FALSE(contest);
  EXPECT_EQ(calls, 4);
}

TEST(Advise, HoldsTheBestOfTheOthersAgainstThePresentChoice) {
  const auto cpu = core::open_device("cpu");
  const auto row = [](const std::string& name, const plan::Selection& selection, double median) {
    StepRow made;
    made.name = name;
    made.selection = selection;
    made.median = median;
    return made;
  };
  const plan::Selection loops = tests::all_of("loops");
  ContestOptions options;
  options.turns = 3;
  options.turn_seconds = 0;
  const auto advice = advise(cpu, tests::tiny_model(), {.batch = 2}, loops,
                             {row("loops", loops, 1), row("reference", tests::all_of("reference"), 30),
                              row("oneDNN", tests::all_of("onednn"), 20)},
                             options, {});
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->name, "oneDNN");
  EXPECT_EQ(advice->failure, "");
  EXPECT_EQ(advice->contest.other.samples, 3);
  const auto none =
      advise(cpu, tests::tiny_model(), {.batch = 2}, loops, {row("loops", loops, 1)}, options, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->failure, "no other choice could be timed");
}

}  // namespace
}  // namespace warpscope::profiling::contest_test
