// How often pictures and looks come, by a clock of the test's own.

#include "gpu/training/pace.h"

#include <gtest/gtest.h>

namespace warpscope::training::pace_test {
namespace {

constexpr double kShare = 0.1, kLeast = 0.5;

Pace::Clock::time_point at(double seconds) {
  return Pace::Clock::time_point{} + std::chrono::hours(1) +
         std::chrono::duration_cast<Pace::Clock::duration>(std::chrono::duration<double>(seconds));
}

TEST(Pace, TheFirstTurnIsDueAtOnce) {
  EXPECT_TRUE(Pace().due(at(0), 100, kShare, kLeast));
}

TEST(Pace, TurnsTakeTheirShareOfTheTimeAtTheMost) {
  Pace pace;
  pace.took_turn(at(0));
  EXPECT_FALSE(pace.due(at(19.9), 2, kShare, kLeast));
  EXPECT_TRUE(pace.due(at(20.1), 2, kShare, kLeast));
}

TEST(Pace, CheapTurnsComeNoFasterThanTheyMay) {
  Pace pace;
  pace.took_turn(at(0));
  EXPECT_FALSE(pace.due(at(0.4), 0, kShare, kLeast));
  EXPECT_TRUE(pace.due(at(0.6), 0, kShare, kLeast));
}

TEST(Pace, TheWaitIsThatOfTheCostWhichIsKnownByNow) {
  Pace pace;
  pace.took_turn(at(0));
  EXPECT_FALSE(pace.due(at(1), 50, kShare, kLeast));
  EXPECT_TRUE(pace.due(at(1), 0.01, kShare, kLeast)) << "the turn was found to cost less than the one before";
}

TEST(Pace, WhatIsForgottenIsDueAtOnceAndThenWaitsForItsOwnCost) {
  Pace pace;
  pace.took_turn(at(0));
  pace.forget();
  EXPECT_TRUE(pace.due(at(0.1), 50, kShare, kLeast)) << "whatever a turn cost before";
  pace.took_turn(at(0.1));
  EXPECT_FALSE(pace.due(at(1), 0.2, kShare, kLeast));
  EXPECT_TRUE(pace.due(at(2.2), 0.2, kShare, kLeast));
}

}  // namespace
}  // namespace warpscope::training::pace_test
