#include "ui/plot/scatter.h"

#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::plot::scatter_test {
namespace {

ScatterRange range_of(const std::vector<ScatterPoint>& points, bool logarithmic) {
  return scatter_range({points, "", "", logarithmic});
}

TEST(Scatters, ShowAllPointsWithAirAroundThem) {
  const std::vector<ScatterPoint> points{{1, 50, ""}, {100, 70, ""}, {10, 60, ""}};
  const ScatterRange linear = range_of(points, false);
  EXPECT_DOUBLE_EQ(linear.low_x, 1 - 9.9);
  EXPECT_DOUBLE_EQ(linear.high_x, 100 + 9.9);
  EXPECT_DOUBLE_EQ(linear.low_y, 48);
  EXPECT_DOUBLE_EQ(linear.high_y, 72);
  const ScatterRange logarithmic = range_of(points, true);
  EXPECT_GT(logarithmic.low_x, 0);
  EXPECT_LT(logarithmic.low_x, 1);
  EXPECT_NEAR(logarithmic.low_x * logarithmic.high_x, 100, 1e-9) << "the same air on both sides, as a factor";
}

TEST(Scatters, OfOnePointAndOfNoneHaveARange) {
  const ScatterRange one = range_of({{2, 0, ""}}, true);
  EXPECT_LT(one.low_x, 2);
  EXPECT_GT(one.high_x, 2);
  EXPECT_LT(one.low_y, 0);
  EXPECT_GT(one.high_y, 0);
  const ScatterRange none = range_of({}, true);
  EXPECT_GT(none.low_x, 0);
  EXPECT_GT(none.high_x, none.low_x);
  EXPECT_GT(none.high_y, none.low_y);
}

}  // namespace
}  // namespace warpscope::ui::plot::scatter_test
