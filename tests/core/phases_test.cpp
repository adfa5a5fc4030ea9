#include "gpu/core/phases.h"

#include <chrono>

#include <gtest/gtest.h>

namespace warpscope::core::phases_test {
namespace {

/// Until the clock has gone on by so much.
void work_for(std::chrono::milliseconds time) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < time) {
  }
}

TEST(Phases, SecondsGoToThePhaseThatBeganLast) {
  const auto start = std::chrono::steady_clock::now();
  Phases phases;
  EXPECT_EQ(phases.current(), "");
  phases.begin("reading");
  work_for(std::chrono::milliseconds(2));
  phases.begin("writing");
  work_for(std::chrono::milliseconds(4));
  const auto times = phases.end();
  const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].phase, "reading");
  EXPECT_EQ(times[1].phase, "writing");
  EXPECT_GE(times[0].seconds, 0.002);
  EXPECT_GE(times[1].seconds, 0.004);
  EXPECT_LE(times[0].seconds + times[1].seconds, all);
  EXPECT_TRUE(phases.end().empty());
}

TEST(Phases, APhaseThatComesAgainGoesOnInItsPlace) {
  Phases phases;
  phases.begin("training");
  for (int n = 0; n < 3; ++n) {
    const InnerPhase inner(phases, "evaluation");
    EXPECT_EQ(phases.current(), "evaluation");
    work_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(phases.current(), "training");
  phases.begin("ending");
  const auto times = phases.end();
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].phase, "training");
  EXPECT_EQ(times[1].phase, "evaluation");
  EXPECT_EQ(times[2].phase, "ending");
  EXPECT_GE(times[1].seconds, 0.006);
}

}  // namespace
}  // namespace warpscope::core::phases_test
