#include "ui/panels/ranks_number.h"

#include <gtest/gtest.h>

namespace warpscope::ui::ranks_number_test {
namespace {

TEST(RankChoices, ArePowersOfTwoThePresentNumberAndAllOfFew) {
  EXPECT_EQ(rank_choices(1, 1), (std::vector{1}));
  EXPECT_EQ(rank_choices(1, 2), (std::vector{1, 2}));
  EXPECT_EQ(rank_choices(3, 6), (std::vector{1, 2, 3, 4, 6}));
  EXPECT_EQ(rank_choices(16, 64), (std::vector{1, 2, 4, 8, 16}));
}

}  // namespace
}  // namespace warpscope::ui::ranks_number_test
