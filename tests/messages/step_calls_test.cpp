// The calls of a step on one time axis.

#include "gpu/messages/step_calls.h"

#include <limits>

#include <gtest/gtest.h>

namespace warpscope::training::step_calls_test {
namespace {

using ops::Op;

OpTiming timing(Op op, double microseconds, double previous = 0, const char* previous_variant = "") {
  OpTiming result;
  result.op = op;
  result.layer = "conv1";
  result.variant = "naive";
  result.microseconds = microseconds;
  result.previous_microseconds = previous;
  result.previous_variant = previous_variant;
  return result;
}

OpTiming covered(Op op, double previous = 0) {
  OpTiming result = timing(op, 0, previous, previous > 0 ? "naive" : "");
  result.variant = "";
  result.covered_by = OpPlace{Op::conv2d_forward, "conv1"};
  return result;
}

TEST(StepCalls, StandOneAfterTheOther) {
  const std::vector<OpTiming> timings{timing(Op::conv2d_forward, 10), covered(Op::bias_forward),
                                      timing(Op::relu_forward, 2.5), timing(Op::mse_forward, 4)};
  const auto calls = calls_of(timings);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].start, 0);
  EXPECT_EQ(calls[1].timing, &timings[2]);
  EXPECT_EQ(calls[1].start, 10);
  EXPECT_EQ(calls[2].start, 12.5);
  EXPECT_EQ(calls[2].end(), 16.5);
  EXPECT_TRUE(calls_before(timings).empty()) << "nothing was switched";
}

TEST(StepCalls, WhatIsNoTimeIsLeftOut) {
  const std::vector<OpTiming> timings{timing(Op::conv2d_forward, std::numeric_limits<double>::quiet_NaN()),
                                      timing(Op::relu_forward, 3), timing(Op::mse_forward, 0),
                                      timing(Op::mse_backward, std::numeric_limits<double>::infinity())};
  ASSERT_EQ(calls_of(timings).size(), 1u);
  EXPECT_EQ(calls_of(timings)[0].start, 0);
  EXPECT_FALSE(all_timed(timings));
}

TEST(StepCalls, BeforeASwitchOthersTookWhatTheyTakeNow) {
  const std::vector<OpTiming> timings{timing(Op::conv2d_forward, 10, 100, "loops"),
                                      timing(Op::relu_forward, 2)};
  const auto before = calls_before(timings);
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[0].microseconds, 100);
  EXPECT_EQ(before[1].start, 100);
  EXPECT_EQ(before[1].microseconds, 2);
}

TEST(StepCalls, ACoveredOpWasACallBeforeIfItHadATime) {
  const std::vector<OpTiming> timings{timing(Op::conv2d_forward, 10, 8, "naive"),
                                      covered(Op::bias_forward, 3), covered(Op::relu_forward)};
  const auto before = calls_before(timings);
  ASSERT_EQ(before.size(), 2u) << "the ReLU never ran by itself";
  EXPECT_EQ(before[1].timing, &timings[1]);
  EXPECT_EQ(before[1].microseconds, 3);
  EXPECT_TRUE(all_timed(timings)) << "covered ones need no time";
}

TEST(StepCalls, AnOpThatWasCoveredWasNoCallBefore) {
  const std::vector<OpTiming> timings{timing(Op::conv2d_forward, 8, 10, "fused"),
                                      timing(Op::relu_forward, 3, 0, "in conv2d.forward")};
  const auto before = calls_before(timings);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].microseconds, 10);
}

TEST(StepCalls, NothingIsTimedWhereThereIsNothing) {
  EXPECT_FALSE(all_timed({}));
  EXPECT_TRUE(calls_of({}).empty());
}

}  // namespace
}  // namespace warpscope::training::step_calls_test
