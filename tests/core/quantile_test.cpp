#include "gpu/core/quantile.h"

#include <gtest/gtest.h>

namespace warpscope::core::quantile_test {
namespace {

TEST(Quantile, AtAHalfIsTheMedian) {
  EXPECT_EQ(quantile({7}, 0.5), 7);
  EXPECT_EQ(quantile({1, 2, 9}, 0.5), 2);
  EXPECT_EQ(quantile({1, 2, 3, 9}, 0.5), 2.5) << "of an even count the mean of the two in the middle";
}

TEST(Quantile, LiesBetweenTheTwoNearest) {
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 0), 1);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 1), 5);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4, 5}, 0.9), 4.6);
  EXPECT_EQ(quantile({7}, 0.99), 7);
}

}  // namespace
}  // namespace warpscope::core::quantile_test
