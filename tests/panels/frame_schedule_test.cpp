#include "ui/frame/frame_schedule.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::frame_schedule_test {
namespace {

constexpr double kNever = FrameSchedule::kNever;

/// Plays a schedule from `from` to `to`. `before` is called each millisecond, with the time; the times of the
/// frames.
std::vector<double> play(
    FrameSchedule& schedule, double from, double to,
    const std::function<void(double)>& before = [](double) {}) {
  std::vector<double> frames;
  for (int i = 0; from + 0.001 * i < to; ++i) {
    const double now = from + 0.001 * i;
    before(now);
    if (schedule.next() > now) continue;
    schedule.drawn(now);
    frames.push_back(now);
  }
  return frames;
}

/// That has drawn all that there was to draw, until second 10.
FrameSchedule resting() {
  FrameSchedule schedule;
  play(schedule, 0, 10);
  return schedule;
}

TEST(FrameSchedule, TheFirstFrameIsDrawnAtOnce) {
  EXPECT_LE(FrameSchedule().next(), 0);
}

TEST(FrameSchedule, NothingIsDrawnWhileNothingHappens) {
  FrameSchedule schedule = resting();
  EXPECT_EQ(schedule.next(), kNever);
  EXPECT_TRUE(play(schedule, 10, 3600).empty());
}

TEST(FrameSchedule, AnotherFrameFollowsWhileAPersonDoesSomething) {
  FrameSchedule schedule = resting();
  EXPECT_FALSE(schedule.is_active());
  schedule.content_changed();
  EXPECT_FALSE(schedule.is_active())
      << "a frame of only what is new is followed by none at the display's rate";
  schedule.input(10);
  EXPECT_TRUE(schedule.is_active());
  schedule.hide(true);
  EXPECT_FALSE(schedule.is_active());
  schedule.hide(false);
  play(schedule, 10, 11);
  EXPECT_FALSE(schedule.is_active());
}

TEST(FrameSchedule, InputIsAnsweredAtOnceAndAtTheDisplaysRateForAMoment) {
  FrameSchedule schedule = resting();
  const std::vector<double> frames = play(schedule, 10, 20, [&](double now) {
    if (now == 10) schedule.input(now);
  });
  ASSERT_GT(frames.size(), 30u);
  EXPECT_EQ(frames.front(), 10);
  const auto settle = frames.end() - 1;
  for (auto frame = frames.begin() + 1; frame < settle; ++frame) EXPECT_LE(*frame - *(frame - 1), 0.018);
  EXPECT_GE(*(settle - 1), 10 + FrameSchedule::kActiveSeconds) << "what comes last is seen too";
  EXPECT_LE(*(settle - 1), 10 + FrameSchedule::kActiveSeconds + 0.018);
  EXPECT_NEAR(*settle, *(settle - 1) + FrameSchedule::kSettle, 0.002);
}

TEST(FrameSchedule, WhileTheMouseMovesItIsTheDisplaysRateHoweverManyEventsThereAre) {
  FrameSchedule schedule = resting();
  const auto frames = play(schedule, 10, 15, [&](double now) { schedule.input(now); });
  EXPECT_NEAR(static_cast<double>(frames.size()), 5 * 60, 15);
}

TEST(FrameSchedule, NewDataComesSevenTimesASecondAtMost) {
  FrameSchedule schedule = resting();
  const auto frames = play(schedule, 10, 20, [&](double) { schedule.content_changed(); });
  EXPECT_LE(frames.size(), 67u);
  EXPECT_GE(frames.size(), 65u);
}

TEST(FrameSchedule, NewDataComesFourTimesASecondAtMostWhereTheGpuThatTrainsDraws) {
  FrameSchedule schedule = resting();
  schedule.drawn_by_trainer(true);
  const auto frames = play(schedule, 10, 20, [&](double) { schedule.content_changed(); });
  EXPECT_LE(frames.size(), 40u);
  EXPECT_GE(frames.size(), 39u);
}

TEST(FrameSchedule, NewDataAfterARestIsShownAtOnceWithAFrameForWhatIsSizedByIt) {
  FrameSchedule schedule = resting();
  const auto frames = play(schedule, 10, 20, [&](double now) {
    if (now == 10) schedule.content_changed();
  });
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0], 10);
  EXPECT_NEAR(frames[1], 10.15, 0.002);
  EXPECT_NEAR(frames[2], 11.15, 0.002) << "for the rate of the last second";
}

TEST(FrameSchedule, InputDoesNotWaitForTheDatasTurn) {
  FrameSchedule schedule = resting();
  schedule.content_changed();
  schedule.drawn(10);
  EXPECT_NEAR(schedule.next(), 10.15, 1e-9);
  schedule.input(10.03);
  EXPECT_LE(schedule.next(), 10.03);
}

TEST(FrameSchedule, WhatChangesByItselfIsDrawnWhenItDoesButNotMoreOftenThanTheDisplay) {
  FrameSchedule schedule = resting();
  schedule.change_at(14.5);
  EXPECT_EQ(schedule.next(), 14.5);
  schedule.drawn(14.5);
  schedule.change_at(14.501);
  EXPECT_NEAR(schedule.next(), 14.5 + FrameSchedule::kFullRate, 1e-9);
  schedule.change_at(kNever);
  EXPECT_NEAR(schedule.next(), 15.5, 1e-9) << "settling";
}

TEST(FrameSchedule, AHiddenWindowIsNotDrawnAndShowsWhatIsNewOnceItIsSeen) {
  FrameSchedule schedule = resting();
  schedule.hide(true);
  EXPECT_TRUE(play(schedule, 10, 20, [&](double now) {
                schedule.content_changed();
                schedule.input(now);
                schedule.change_at(now);
              }).empty());
  schedule.hide(false);
  EXPECT_LE(schedule.next(), 20);
}

TEST(FrameSchedule, SettlesOnceAfterARestThatOnlyItEnded) {
  FrameSchedule schedule;
  schedule.drawn(0);
  EXPECT_EQ(schedule.next(), 1);
  schedule.drawn(1);
  EXPECT_EQ(schedule.next(), kNever);
}

}  // namespace
}  // namespace warpscope::ui::frame_schedule_test
