// The bookkeeping of dynamic loss scaling at the end of each step.

#include <gtest/gtest.h>

#include "gpu/ops/step/step.h"

namespace warpscope::ops::step {
namespace {

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
  EXPECT_EQ(record_of(control, 1, 0.5f).skipped, 1u);
  EXPECT_EQ(record_of(control, 1, 0.5f).loss_scale, 1024.0f) << "the scale that the step used";
  control = next_control(control, 8);
  EXPECT_EQ(control.loss_scale, 512.0f);
  EXPECT_EQ(control.good_steps, 0u);
  EXPECT_EQ(control.overflow, 0u);
  EXPECT_EQ(control.step, 1u);
  EXPECT_EQ(control.position, 8u);
}

TEST(LossScale, DoublesAfterEnoughGoodSteps) {
  StepControl control = scaled();
  for (const float expected : {1024.0f, 1024.0f, 2048.0f, 2048.0f, 2048.0f, 4096.0f}) {
    control = next_control(control, 8);
    EXPECT_EQ(control.loss_scale, expected);
  }
}

TEST(LossScale, StaysWithoutAGrowthInterval) {
  StepControl control = scaled();
  control.growth_interval = 0;
  for (int i = 0; i < 10; ++i) control = next_control(control, 8);
  EXPECT_EQ(control.loss_scale, 1024.0f);
}

TEST(LossScale, StaysWithinItsLimits) {
  StepControl control = scaled();
  control.loss_scale = kLeastLossScale;
  control.overflow = 1;
  EXPECT_EQ(next_control(control, 8).loss_scale, kLeastLossScale);
  control = scaled();
  control.loss_scale = kMostLossScale;
  for (int i = 0; i < 3; ++i) control = next_control(control, 8);
  EXPECT_EQ(control.loss_scale, kMostLossScale);
}

}  // namespace
}  // namespace warpscope::ops::step
