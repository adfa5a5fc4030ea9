#pragma once
// Bytes that ranks of a test give each other, and whether they arrive.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

using Bytes = std::vector<std::byte>;

/// Bytes that tell who made them, when, and where they stand.
inline Bytes bytes_of(int rank, int round, std::size_t count) {
  std::vector<std::uint64_t> words(count / 8 + 1);
  std::uint64_t state = static_cast<std::uint64_t>(rank * 1000003 + round * 7919 + 1);
  for (std::uint64_t& word : words) word = state = state * 6364136223846793005 + 1442695040888963407;
  Bytes result(count);
  if (count > 0) std::memcpy(result.data(), words.data(), count);
  return result;
}

inline bool same(std::span<const std::byte> a, const Bytes& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

inline void gather(Group& group, int round, std::size_t count) {
  const Bytes mine = bytes_of(group.place().rank, round, count);
  Bytes all(count * group.place().size);
  group.all_gather(mine, all);
  for (int rank = 0; rank < group.place().size; ++rank) {
    const auto part = std::span(all).subspan(count * rank, count);
    ASSERT_TRUE(same(part, bytes_of(rank, round, count))) << count << " bytes of rank " << rank;
  }
}

/// Each block is made by who gives it, for who gets it.
inline void exchange(Group& group, int round, std::size_t block) {
  const auto [me, size] = group.place();
  Bytes to;
  for (int rank = 0; rank < size; ++rank) {
    const Bytes given = bytes_of(me * size + rank, round, block);
    to.insert(to.end(), given.begin(), given.end());
  }
  Bytes from(to.size());
  group.all_to_all(to, from);
  for (int rank = 0; rank < size; ++rank) {
    const auto part = std::span(from).subspan(block * rank, block);
    ASSERT_TRUE(same(part, bytes_of(rank * size + me, round, block))) << block << " bytes of " << rank;
  }
}

/// The same calls on all ranks, of sizes up to some hundred kilobytes.
inline void make_calls_of_all_kinds(Meeting& meeting) {
  const auto group = meeting.group(kOrders, {});
  std::mt19937 random(meeting.place().size);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = random() % (round % 50 == 0 ? 300000 : 300);
    switch (random() % 3) {
      case 0:
        gather(*group, round, count);
        break;
      case 1:
        exchange(*group, round, count);
        break;
      default:
        if (meeting.place().leads()) {
          group->send(bytes_of(0, round, count));
        } else {
          ASSERT_EQ(group->receive(), bytes_of(0, round, count));
        }
    }
  }
}

/// Two of three ranks trade, twice, while the third comes along with memory that must stay as it is.
inline void trade_while_a_third_comes_along(Group& group, std::size_t count) {
  const int me = group.place().rank;
  for (const auto& [a, b] : {std::pair(0, 2), std::pair(2, 1)}) {
    const Bytes before(count);
    Bytes theirs = before;
    group.trade(a, b, bytes_of(me, 7, count), theirs);
    ASSERT_EQ(theirs, me == a ? bytes_of(b, 7, count) : (me == b ? bytes_of(a, 7, count) : before));
  }
}

}  // namespace warpscope::ranks
