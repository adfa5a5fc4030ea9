// Steps of ranks whose clocks are apart, on one axis.

#include "gpu/engine/rank_watch.h"

#include <vector>

#include <gtest/gtest.h>

namespace warpscope::training::rank_watch_test {
namespace {

/// Began at `began` microseconds of its own clock; forward 100, backward 200, update 50.
TimedStep timed(std::uint64_t step, std::int64_t began, double sums) {
  return {.step = step,
          .began = 1000 * began,
          .uncertainty = 2,
          .forward = 100,
          .backward = 200,
          .sums = sums,
          .update = 50};
}

TEST(AlignedSteps, StandWhereTheClockOfRank0HasThem) {
  // Rank 1 began 30 us before rank 0 by a clock that is 1 s ahead, rank 2 10 us after it.
  const std::vector<TimedSteps> ranks{
      {timed(8, 5'000'000, 50)}, {timed(8, 5'999'970, 80)}, {timed(8, 5'000'010, 40)}};
  const auto aligned = aligned_steps(ranks, std::vector<ranks::ClockOffset>{{0, 0}, {1'000'000, 6}, {0, 3}});
  ASSERT_EQ(aligned.size(), 3U);
  EXPECT_EQ(aligned[0].step, (RankStep{8, 30, 100, 200, 10, 40, 50}));
  EXPECT_EQ(aligned[1].step, (RankStep{8, 0, 100, 200, 40, 40, 50}));
  EXPECT_EQ(aligned[2].step, (RankStep{8, 40, 100, 200, 0, 40, 50}));
  EXPECT_EQ(aligned[0].step.end(), 430);
  EXPECT_EQ(aligned[0].uncertainty, 2);
  EXPECT_EQ(aligned[1].uncertainty, 8);
}

TEST(AlignedSteps, AreOfTheNewestStepThatAllHaveTimed) {
  const std::vector<ranks::ClockOffset> clocks(2);
  const std::vector<TimedSteps> one_is_ahead{{timed(12, 900, 5), timed(8, 100, 5)},
                                             {timed(8, 100, 5), timed(4, 0, 5)}};
  EXPECT_EQ(aligned_steps(one_is_ahead, clocks)[1].step.step, 8U);
  const std::vector<TimedSteps> none_in_common{{timed(12, 900, 5)}, {timed(8, 100, 5)}};
  EXPECT_EQ(aligned_steps(none_in_common, clocks)[0].step, RankStep());
  EXPECT_EQ(aligned_steps(std::vector<TimedSteps>(2), clocks)[1].step, RankStep());
}

}  // namespace
}  // namespace warpscope::training::rank_watch_test
