#include "ui/plot/bars.h"

#include <gtest/gtest.h>

namespace warpscope::ui::plot::bars_test {
namespace {

Bar bar(double value, double low, double high) {
  Bar made;
  made.value = value;
  made.low = low;
  made.high = high;
  return made;
}

TEST(BarAxis, StartsAtZeroAndHoldsTheLongestWhisker) {
  BarGroup group;
  group.bars = {bar(10, 9, 12), bar(40, 30, 50)};
  const Axis axis = bar_axis(group, false, 100, 300);
  EXPECT_EQ(axis.to_pixel(0), 100);
  EXPECT_EQ(axis.to_pixel(50), 300);
  group.mark = 100;
  EXPECT_EQ(bar_axis(group, false, 100, 300).high, 100);
}

TEST(BarAxis, OutliersDoNotShortenTheBars) {
  BarGroup group;
  group.bars = {bar(10, 9, 12), bar(40, 30, 50'000)};
  EXPECT_EQ(bar_axis(group, false, 100, 300).high, 80);
}

TEST(BarAxis, LogarithmicBarsAllHaveSomeLength) {
  BarGroup group;
  group.bars = {bar(10, 10, 10), bar(4000, 3900, 4200)};
  const Axis axis = bar_axis(group, true, 0, 300);
  EXPECT_TRUE(axis.logarithmic);
  EXPECT_GT(axis.to_pixel(10), 20);
  EXPECT_EQ(axis.to_pixel(4200), 300);
}

TEST(BarAxis, IsThereWithoutBars) {
  const Axis axis = bar_axis({}, true, 0, 300);
  EXPECT_LT(axis.low, axis.high);
  EXPECT_FALSE(axis.logarithmic);
}

}  // namespace
}  // namespace warpscope::ui::plot::bars_test
