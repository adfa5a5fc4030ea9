// The bookkeeping of dynamic loss scaling at the end of each step.

#include <limits>

#include <gtest/gtest.h>

#include "gpu/ops/step/step.h"

namespace warpscope::ops::step::loss_scale_test {
namespace {

constexpr float kMetricsOfAStep[kMetrics] = {0.5f, 0.25f, 2.0f};
constexpr float kLoss = kMetricsOfAStep[kLossMetric];
constexpr float kSums[kStatistics] = {9, 4, 16};

StepControl scaled() {
  StepControl control;
  control.epoch_size = 64;
  control.loss_scale = 1024;
  control.growth_interval = 3;
  return control;
}

TEST(LossScale, HalvesAtAnOverflowAndForgetsIt) {
  StepControl control = scaled();
  control.good_steps = 2;
  control.overflow = 1;
  EXPECT_EQ(record_of(control, 1, kMetricsOfAStep, kSums).skipped, 1u);
  EXPECT_EQ(record_of(control, 1, kMetricsOfAStep, kSums).loss_scale, 1024.0f)
      << "the scale that the step used";
  control = next_control(control, 8, kLoss);
  EXPECT_EQ(control.loss_scale, 512.0f);
  EXPECT_EQ(control.good_steps, 0u);
  EXPECT_EQ(control.overflow, 0u);
  EXPECT_EQ(control.step, 1u);
  EXPECT_EQ(control.position, 8u);
}

TEST(LossScale, DoublesAfterEnoughGoodSteps) {
  StepControl control = scaled();
  for (const float expected : {1024.0f, 1024.0f, 2048.0f, 2048.0f, 2048.0f, 4096.0f}) {
    control = next_control(control, 8, kLoss);
    EXPECT_EQ(control.loss_scale, expected);
  }
}

TEST(LossScale, OfTheLastStepIsKeptForItsGradients) {
  StepControl control = scaled();
  control.good_steps = 2;
  control = next_control(control, 8, kLoss);
  EXPECT_EQ(control.loss_scale, 2048.0f);
  EXPECT_EQ(control.gradient_scale, 1024.0f);
  control.overflow = 1;
  control = next_control(control, 8, kLoss);
  EXPECT_EQ(control.loss_scale, 1024.0f);
  EXPECT_EQ(control.gradient_scale, 2048.0f);
}

TEST(LossScale, StaysWithoutAGrowthInterval) {
  StepControl control = scaled();
  control.growth_interval = 0;
  for (int i = 0; i < 10; ++i) control = next_control(control, 8, kLoss);
  EXPECT_EQ(control.loss_scale, 1024.0f);
}

TEST(LossScale, StaysWithinItsLimits) {
  StepControl control = scaled();
  control.loss_scale = kLeastLossScale;
  control.overflow = 1;
  EXPECT_EQ(next_control(control, 8, kLoss).loss_scale, kLeastLossScale);
  control = scaled();
  control.loss_scale = kMostLossScale;
  for (int i = 0; i < 3; ++i) control = next_control(control, 8, kLoss);
  EXPECT_EQ(control.loss_scale, kMostLossScale);
}

TEST(Halt, FollowsALossThatIsNotFiniteAndStopsUpdates) {
  StepControl control = scaled();
  control.updates = 5;
  EXPECT_FALSE(skips_update(control, kLoss));
  control = next_control(control, 8, kLoss);
  EXPECT_EQ(control.updates, 6u);
  for (const float loss : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_TRUE(skips_update(control, loss));
    const StepControl next = next_control(control, 8, loss);
    EXPECT_EQ(next.halted, 1u);
    EXPECT_EQ(next.updates, 6u);
    EXPECT_TRUE(skips_update(next, kLoss)) << "until the host has cleared it";
    EXPECT_EQ(next_control(next, 8, kLoss).halted, 1u);
  }
}

TEST(Halt, AnOverflowIsNoUpdateEither) {
  StepControl control = scaled();
  control.overflow = 1;
  EXPECT_TRUE(skips_update(control, kLoss));
  control = next_control(control, 8, kLoss);
  EXPECT_EQ(control.updates, 0u);
  EXPECT_EQ(control.halted, 0u);
}

}  // namespace
}  // namespace warpscope::ops::step::loss_scale_test
