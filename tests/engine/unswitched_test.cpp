// Which times are held against each other: made-up samples of a step of three ops, one of which is switched.

#include "gpu/engine/unswitched.h"

#include <gtest/gtest.h>

namespace warpscope::training::unswitched_test {
namespace {

using ops::Op;

constexpr int kSteps = 31;

/// How much longer than on an idle machine step i takes.
using Load = double (*)(int i);

double idle(int i) {
  return 1 + 0.01 * (i % 3);
}
double loaded(int i) {
  return 1.8 * idle(i);
}
double mostly_slow(int i) {
  return i % 4 == 0 ? 0.5 : 1;
}
double mostly_fast(int i) {
  return i % 4 == 0 ? 1 : 0.5;
}
double half_and_half(int i) {
  return i % 5 < 3 ? 1 : 0.5;
}
double half_and_half_the_other_way(int i) {
  return i % 5 < 3 ? 0.5 : 1;
}

OpTimes op_of(Op op, const char* variant, double microseconds, Load load, int steps) {
  OpTimes made;
  made.ran = {op, "conv1", variant, {}, core::Precision::fp32, 64};
  for (int i = 0; i < steps; ++i) made.times.push_back(microseconds * load(i));
  return made;
}

/// conv2d.forward runs by `variant`; the others stay.
std::vector<OpTimes> step_of(const char* variant, double microseconds, Load load, int steps = kSteps) {
  return {op_of(Op::conv2d_forward, variant, microseconds, load, steps),
          op_of(Op::relu_forward, "loops", 20, load, steps),
          op_of(Op::optimizer_update, "loops", 60, load, steps)};
}

struct Judged {
  Compared compared;
  std::string why;
};

/// Judges the time of conv2d.forward.
Judged judge(const std::vector<OpTimes>& before, const std::vector<OpTimes>& now) {
  const Measured was = measured_of(before[0].times), is = measured_of(now[0].times);
  const Control control = control_of(before, now);
  const Compared compared = compare(was, is, control);
  return {compared, doubt_text(compared.doubt, was, is, control, "times")};
}

TEST(Comparison, ASwitchOnAnIdleMachineIsTold) {
  const Judged faster = judge(step_of("loops", 100, idle), step_of("onednn", 25, idle));
  EXPECT_EQ(faster.compared.difference, Difference::less);
  EXPECT_EQ(faster.why, "");
  EXPECT_EQ(judge(step_of("onednn", 25, idle), step_of("loops", 100, idle)).compared.difference,
            Difference::more);
  EXPECT_EQ(judge(step_of("loops", 100, idle), step_of("direct", 101, idle)).compared.difference,
            Difference::noise);
}

TEST(Comparison, AnotherProgramInBetweenMakesNoDifference) {
  const Judged same = judge(step_of("loops", 100, loaded), step_of("direct", 100, idle));
  EXPECT_EQ(same.compared.difference, Difference::unknown);
  EXPECT_EQ(same.compared.doubt, Doubt::other_load);
  EXPECT_NE(same.why.find("take 0.56 times as long as before the switch"), std::string::npos) << same.why;
  EXPECT_EQ(judge(step_of("loops", 100, idle), step_of("onednn", 25, loaded)).compared.doubt,
            Doubt::other_load)
      << "it is faster, but nobody can say how much";
}

TEST(Comparison, AStepAtTwoSpeedsMakesNoDifference) {
  EXPECT_EQ(
      judge(step_of("loops", 100, mostly_slow), step_of("direct", 100, mostly_fast)).compared.difference,
      Difference::unknown);
  EXPECT_EQ(judge(step_of("loops", 100, mostly_slow), step_of("direct", 100, half_and_half_the_other_way))
                .compared.difference,
            Difference::unknown);
  // Where only the switched op has two speeds the others tell nothing of it.
  std::vector<OpTimes> before = step_of("loops", 100, idle), now = step_of("direct", 100, idle);
  before[0] = op_of(Op::conv2d_forward, "loops", 100, half_and_half, kSteps);
  now[0] = op_of(Op::conv2d_forward, "direct", 100, half_and_half_the_other_way, kSteps);
  EXPECT_EQ(judge(before, now).compared.doubt, Doubt::wide_spread);
}

TEST(Comparison, FewSamplesTellNothing) {
  const Judged few = judge(step_of("loops", 100, idle), step_of("onednn", 25, idle, 8));
  EXPECT_EQ(few.compared.doubt, Doubt::few_samples);
  EXPECT_NE(few.why.find("31 times were sampled before the switch and 8 since; 9 of each"), std::string::npos)
      << few.why;
  EXPECT_EQ(judge(step_of("loops", 100, idle), step_of("onednn", 25, idle, 9)).compared.difference,
            Difference::less);
}

TEST(Comparison, WhereAllIsSwitchedNothingTellsOfTheMachine) {
  std::vector<OpTimes> now = step_of("onednn", 25, idle);
  for (OpTimes& op : now) op.ran.variant = "onednn";
  EXPECT_EQ(judge(step_of("loops", 100, idle), now).compared.doubt, Doubt::no_control);
  now[1].ran.variant = "loops";
  for (double& time : now[1].times) time = 0.5;  // less than a clock tells well
  EXPECT_EQ(judge(step_of("loops", 100, idle), now).compared.doubt, Doubt::no_control);
}

TEST(Comparison, InAnotherPrecisionOpsThatMoveTheSameBytesAreAlike) {
  std::vector<OpTimes> now = step_of("loops", 50, idle);
  for (OpTimes& op : now) op.ran.precision = core::Precision::tf32;
  EXPECT_FALSE(run_alike(step_of("loops", 50, idle)[0].ran, now[0].ran)) << "products";
  EXPECT_EQ(judge(step_of("loops", 100, idle), now).compared.difference, Difference::less);
  for (OpTimes& op : now) op.ran.bytes = 32;
  EXPECT_EQ(judge(step_of("loops", 100, idle), now).compared.doubt, Doubt::no_control);
}

TEST(Comparison, OpsThatWaitForOtherRanksTellNothingOfTheMachine) {
  std::vector<OpTimes> before = step_of("loops", 100, idle), now = step_of("onednn", 25, idle);
  before.push_back(op_of(Op::gradients_allreduce, "loops", 10, idle, kSteps));
  now.push_back(op_of(Op::gradients_allreduce, "loops", 500, idle, kSteps));
  EXPECT_EQ(judge(before, now).compared.difference, Difference::less);
}

TEST(Comparison, TheWorstControlOfSeveralHolds) {
  const Control good{100, 101, 31}, bad{100, 60, 31}, few{100, 100, 3}, none;
  EXPECT_EQ(worse_of(good, bad), bad);
  EXPECT_EQ(worse_of(bad, good), bad);
  EXPECT_EQ(worse_of(few, bad), few);
  EXPECT_EQ(worse_of(good, none), none);
}

}  // namespace
}  // namespace warpscope::training::unswitched_test
