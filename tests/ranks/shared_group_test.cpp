#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/group_bytes.h"
#include "tests/support/rank_threads.h"

namespace warpscope::ranks::shared_group_test {
namespace {

constexpr std::size_t kSlot = std::size_t{1} << 20;
constexpr std::size_t kRing = std::size_t{4} << 20;

std::vector<std::size_t> sizes_around(std::size_t boundary) {
  return {0, 1, 7, boundary - 1, boundary, boundary + 1, 2 * boundary + 3};
}

class SharedGroupOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SharedGroupOf, testing::Values(1, 2, 3, 4, 8));

TEST_P(SharedGroupOf, GathersBytesOfAnyNumber) {
  as_ranks(GetParam(), [](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    int round = 0;
    for (const std::size_t count : sizes_around(kSlot)) gather(*group, round++, count);
  });
}

TEST_P(SharedGroupOf, ExchangesBlocksOfAnySize) {
  as_ranks(GetParam(), [](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    const std::size_t others = std::max(meeting.place().size - 1, 1);
    int round = 0;
    for (const std::size_t block : sizes_around(kSlot / others / 64 * 64)) exchange(*group, round++, block);
  });
}

TEST_P(SharedGroupOf, MakesCallsOfAllKindsInAnyOrder) {
  as_ranks(GetParam(), [](SharedMeeting& meeting) { make_calls_of_all_kinds(meeting); });
}

TEST_P(SharedGroupOf, PassesMessagesOnThroughAndPastTheEndOfTheRing) {
  as_ranks(GetParam(), [](SharedMeeting& meeting) {
    const auto group = meeting.group(kOrders, {});
    int round = 0;
    for (const std::size_t length : {0, 1, 100, 3 << 20, 3 << 20, (4 << 20) - 8, 4 << 20, 9 << 20, 5, 0}) {
      const Bytes message = bytes_of(0, round++, length);
      if (meeting.place().leads()) {
        group->send(message);
      } else {
        ASSERT_EQ(group->receive(), message);
      }
    }
  });
}

TEST(SharedGroup, TwoRanksSwapWhileAThirdComesAlong) {
  as_ranks(3, [](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    trade_while_a_third_comes_along(*group, 3 * kSlot + 5);
    gather(*group, 0, 100);
  });
}

TEST(SharedGroup, SendsWhileTheRingHasRoomWithoutARankThatReceives) {
  const auto leader = found_meeting(2);
  const auto follower = join_meeting(*leader, 1);
  const auto sending = leader->group(kOrders, {});
  const auto receiving = follower->group(kOrders, {});
  const Bytes half = bytes_of(0, 1, kRing / 2);
  sending->send(half);
  sending->send(bytes_of(0, 2, 1000));
  EXPECT_EQ(receiving->receive(), half);
  EXPECT_EQ(receiving->receive(), bytes_of(0, 2, 1000));
}

TEST(SharedGroup, GroupsDoNotDisturbEachOther) {
  as_ranks(3, [](SharedMeeting& meeting) {
    const auto orders = meeting.group(kOrders, {});
    const auto sums = meeting.group(kSums, {});
    const std::jthread other([&] {
      for (int round = 0; round < 200; ++round) gather(*sums, round, 5000);
    });
    for (int round = 0; round < 200; ++round) exchange(*orders, round, 3000);
  });
}

TEST(SharedGroup, RanksMeetThroughAFileDescriptor) {
  const auto leader = found_meeting(2);
  const auto follower = join_meeting(leader->descriptor(), 1);
  const std::jthread other([&] {
    const auto group = follower->group(kSums, {});
    gather(*group, 0, 3 * kSlot);
    EXPECT_EQ(group->receive(), bytes_of(0, 1, 10));
  });
  const auto group = leader->group(kSums, {});
  gather(*group, 0, 3 * kSlot);
  group->send(bytes_of(0, 1, 10));
}

TEST(SharedGroup, RefusesWhatDoesNotFitItsRanks) {
  const auto meeting = found_meeting(2);
  const auto group = meeting->group(kSums, {});
  Bytes some(4);
  Bytes more(9);
  EXPECT_THROW(group->all_gather(some, more), core::BadInput);
  EXPECT_THROW(group->all_to_all(more, more), core::BadInput);
  EXPECT_THROW(group->receive(), core::BadInput);
  EXPECT_THROW(meeting->group(kSums, {}), core::BadInput);
  EXPECT_THROW(meeting->group(Meeting::kGroups, {}), core::BadInput);
}

TEST(SharedGroup, SaysWhoComesWithOtherBytesThanThis) {
  as_ranks(2, [](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    group->note_purpose("the gradients of step 12");
    const Bytes mine(meeting.place().leads() ? 8 : 12);
    Bytes all(2 * mine.size());
    try {
      group->all_gather(mine, all);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const core::Error& error) {
      const std::string start = meeting.place().leads() ? "rank 1 came" : "rank 0 came";
      EXPECT_TRUE(std::string(error.what()).starts_with(start + " to the gradients of step 12"))
          << error.what();
    }
    EXPECT_THROW(group->all_gather(mine, all), core::Error);
  });
}

}  // namespace
}  // namespace warpscope::ranks::shared_group_test
