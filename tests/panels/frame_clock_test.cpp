#include "ui/frame/frame_clock.h"

#include <gtest/gtest.h>

namespace warpscope::ui::frame_clock_test {
namespace {

TEST(FrameClock, CountsTheFramesOfTheLastSecond) {
  FrameClock clock;
  EXPECT_EQ(clock.frames_in_last_second(0), 0);
  double now = 0;
  for (int i = 0; i < 200; ++i) clock.add(now += 0.02, 0.004, 0.005);
  EXPECT_EQ(clock.frames_in_last_second(now), 50);
  EXPECT_EQ(clock.frames_in_last_second(now + 0.5), 25);
  EXPECT_EQ(clock.frames_in_last_second(now + 60), 0);
  clock.add(now + 60, 0.004, 0.005);
  EXPECT_EQ(clock.frames_in_last_second(now + 60), 1);
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
}  // namespace warpscope::ui::frame_clock_test
