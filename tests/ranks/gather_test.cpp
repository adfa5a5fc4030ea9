#include "gpu/ranks/gather.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/group_bytes.h"
#include "tests/support/rank_threads.h"

namespace warpscope::ranks::gather_test {
namespace {

TEST(Gather, RankZeroGetsWhatEachGivesHoweverMuch) {
  const std::vector<std::size_t> sizes{5, 0, (std::size_t{2} << 20) + 3, 1};
  as_ranks(4, [&](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    const int me = meeting.place().rank;
    const auto all = collected(*group, bytes_of(me, 0, sizes[static_cast<std::size_t>(me)]));
    ASSERT_EQ(all.size(), me == 0 ? 4U : 0U);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      EXPECT_EQ(all[rank], bytes_of(static_cast<int>(rank), 0, sizes[rank])) << rank;
  });
}

TEST(Gather, SentencesAreToldToAllAndTheFirstIsRefused) {
  as_ranks(3, [](SharedMeeting& meeting) {
    const auto group = meeting.group(kOrders, {});
    const auto all = gathered_texts(*group, meeting.place().rank == 0 ? "" : std::string(1000, 'x'));
    EXPECT_EQ(all, (std::vector<std::string>{"", std::string(511, 'x'), std::string(511, 'x')}));
    try {
      refuse_first(all);
      ADD_FAILURE() << "nothing was refused";
    } catch (const core::BadInput& error) {
      EXPECT_EQ(error.what(), "rank 1: " + all[1]);
    }
    EXPECT_NO_THROW(refuse_first({"", ""}));
  });
}

}  // namespace
}  // namespace warpscope::ranks::gather_test
