#include "ui/frame_clock.h"

#include <gtest/gtest.h>

namespace warpscope::ui {
namespace {

TEST(Quantile, IsTheNearestValueFromAbove) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({7}, 0.99), 7);
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 3, 2, 1}, 0.99), 4);
}

TEST(FrameClock, GivesTheMedianRateAndIgnoresRests) {
  FrameClock clock;
  double now = 0;
  for (int i = 0; i < 200; ++i) clock.add(now += 0.02, 0.004, 0.005);
  EXPECT_NEAR(clock.frames_per_second(), 50, 0.01);
  EXPECT_NEAR(clock.work_milliseconds(), 4, 0.01);
  clock.restart();
  now += 60;
  for (int i = 0; i < 200; ++i) clock.add(now += 0.02, 0.004, 0.005);
  EXPECT_NEAR(clock.p99_milliseconds(), 20, 0.01);
}

TEST(FrameClock, OneSlowFrameInAHundredIsInTheQuantileAndNotInTheMedian) {
  FrameClock clock;
  double now = 0;
  for (int i = 0; i < 300; ++i) clock.add(now += i % 50 == 0 ? 0.1 : 0.016, 0.001, 0.001);
  EXPECT_NEAR(clock.frames_per_second(), 62.5, 0.01);
  EXPECT_NEAR(clock.p99_milliseconds(), 100, 0.01);
}

TEST(FrameClock, QuantileOfTheWorkLeavesOutTheWaiting) {
  FrameClock clock;
  double now = 0;
  for (int i = 0; i < 300; ++i) clock.add(now += 0.016, i % 50 == 0 ? 0.009 : 0.002, 0.012);
  EXPECT_NEAR(clock.work_milliseconds(), 2, 0.01);
  EXPECT_NEAR(clock.p99_work_milliseconds(), 9, 0.01);
  EXPECT_NEAR(clock.p99_swapped_milliseconds(), 12, 0.01);
}

}  // namespace
}  // namespace warpscope::ui
