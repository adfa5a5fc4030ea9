#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/rank_threads.h"

namespace warpscope::ranks::sum_over_ranks_test {
namespace {

float share_of(int rank) {
  return 1.0f / static_cast<float>(3 + rank);
}

/// Their magnitudes differ so much that another order of additions gives other bits.
std::vector<float> values_of(int rank, std::size_t count) {
  std::uint32_t bits = static_cast<std::uint32_t>(rank) + 17;
  std::vector<float> result(count);
  for (float& value : result) {
    bits = bits * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<std::int32_t>(bits)) * ((bits >> 16) % 3 == 0 ? 1e-9f : 1e-4f);
  }
  return result;
}

/// The tree of group.h as it is told: neighbours first, their sums in the same way.
std::vector<float> plain_tree(int ranks, std::size_t count) {
  std::vector<std::vector<float>> level;
  for (int rank = 0; rank < ranks; ++rank) {
    level.push_back(values_of(rank, count));
    for (float& value : level.back()) value *= share_of(rank);
  }
  while (level.size() > 1) {
    std::vector<std::vector<float>> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(level[i]);
      if (i + 1 == level.size()) continue;
      for (std::size_t j = 0; j < count; ++j) next.back()[j] += level[i + 1][j];
    }
    level = std::move(next);
  }
  return level.front();
}

std::size_t different_bits(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t count = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) ++count;
  }
  return count;
}

void expect_plain_tree(int ranks, std::size_t count) {
  const std::vector<float> expected = plain_tree(ranks, count);
  as_ranks(ranks, [&](SharedMeeting& meeting) {
    const int rank = meeting.place().rank;
    const auto group = meeting.group(kSums, {});
    std::vector<float> values = values_of(rank, count);
    sum_over_ranks(*group, values, share_of(rank));
    EXPECT_EQ(different_bits(values, expected), 0U)
        << count << " values of " << ranks << " ranks, on rank " << rank;
  });
}

TEST(SumOverRanks, HasTheBitsOfOneTreeForAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
    for (const std::size_t count : {0, 1, 2, 12, 13, 1000, 4097}) expect_plain_tree(ranks, count);
  }
}

TEST(SumOverRanks, HasTheSameBitsWhereverPiecesEnd) {
  for (const int ranks : {2, 3}) {
    for (const std::size_t piece : {std::size_t{1} << 18, std::size_t{1} << 20}) {
      for (const std::size_t count : {piece - 1, piece, piece + 1}) expect_plain_tree(ranks, count);
    }
  }
  expect_plain_tree(2, (std::size_t{2} << 20) + 12345);
}

TEST(SumOverRanks, CarriesWhatIsNotANumberToAllRanks) {
  as_ranks(3, [](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    std::vector<float> values(10, 1.0f);
    if (meeting.place().rank == 1) values[7] = std::numeric_limits<float>::quiet_NaN();
    if (meeting.place().rank == 2) values[8] = std::numeric_limits<float>::infinity();
    sum_over_ranks(*group, values, 1.0f);
    EXPECT_TRUE(std::isnan(values[7]));
    EXPECT_TRUE(std::isinf(values[8]));
    EXPECT_EQ(values[6], 3.0f);
  });
}

}  // namespace
}  // namespace warpscope::ranks::sum_over_ranks_test
