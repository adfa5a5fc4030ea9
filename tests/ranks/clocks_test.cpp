// Clocks of ranks that are set apart on purpose.

#include "gpu/ranks/clocks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/rank_threads.h"

namespace warpscope::ranks::clocks_test {
namespace {

/// An exchange of two ranks, in microseconds: when each comes, by a true clock, and how long the ways take.
struct Way {
  std::int64_t mine_comes, other_comes, there, back;
};

/// As both have it by their clocks, `ahead` microseconds apart.
struct Seen {
  std::vector<Encounter> mine, other;
};

Seen seen_of(const std::vector<Way>& ways, std::int64_t ahead) {
  Seen seen;
  for (const Way& way : ways) {
    const std::int64_t mine_leaves = std::max(way.mine_comes, way.other_comes + way.back);
    const std::int64_t other_leaves = std::max(way.other_comes, way.mine_comes + way.there);
    seen.mine.push_back({1000 * way.mine_comes, 1000 * mine_leaves});
    seen.other.push_back({1000 * (way.other_comes + ahead), 1000 * (other_leaves + ahead)});
  }
  return seen;
}

ClockOffset offset_of(const std::vector<Way>& ways, std::int64_t ahead) {
  const Seen seen = seen_of(ways, ahead);
  return offset_between(seen.mine, seen.other);
}

TEST(ClockOffset, IsExactWhereBothWaysTakeAsLong) {
  for (const std::int64_t ahead : {0, 70, -5'000'000}) {
    const ClockOffset offset = offset_of({{100, 100, 8, 8}}, ahead);
    EXPECT_DOUBLE_EQ(offset.microseconds, static_cast<double>(ahead));
    EXPECT_DOUBLE_EQ(offset.uncertainty, 8);
  }
}

TEST(ClockOffset, LiesWithinItsUncertaintyHoweverUnequalTheWays) {
  const std::int64_t ahead = 12'345;
  for (const std::int64_t there : {0, 3, 400}) {
    for (const std::int64_t back : {0, 5, 900}) {
      for (const std::int64_t late : {-700, 0, 2, 60}) {
        const ClockOffset offset = offset_of({{1000, 1000 + late, there, back}}, ahead);
        EXPECT_LE(std::abs(offset.microseconds - static_cast<double>(ahead)), offset.uncertainty + 1e-6)
            << there << " " << back << " " << late;
      }
    }
  }
}

TEST(ClockOffset, TheSmallestRoundTripCounts) {
  // The first one met a busy network, the second a rank that came late.
  const ClockOffset offset = offset_of({{0, 0, 10, 900}, {2000, 2500, 10, 10}, {4000, 4001, 12, 10}}, -40);
  EXPECT_DOUBLE_EQ(offset.microseconds, -39);
  EXPECT_DOUBLE_EQ(offset.uncertainty, 11);
}

TEST(AlignClocks, FindsClocksThatAreSetApartAndLeavesOneThatAllShare) {
  as_ranks(3, [](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    const int rank = meeting.place().rank;
    for (const ClockOffset& each : align_clocks(*group)) EXPECT_EQ(each.microseconds, 0);
    // Far more than any thread here waits for another.
    const auto apart = [rank] { return steady_nanoseconds() + rank * std::int64_t{3'600'000'000'000}; };
    const std::vector<ClockOffset> offsets = align_clocks(*group, apart);
    ASSERT_EQ(offsets.size(), 3U);
    EXPECT_EQ(offsets[0].uncertainty, 0);
    for (std::size_t other = 1; other < 3; ++other) {
      const double hour = 3.6e9 * static_cast<double>(other);
      EXPECT_LE(std::abs(offsets[other].microseconds - hour), offsets[other].uncertainty);
      EXPECT_GT(offsets[other].uncertainty, 0);
    }
  });
}

}  // namespace
}  // namespace warpscope::ranks::clocks_test
