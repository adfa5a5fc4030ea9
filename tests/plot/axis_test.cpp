#include "ui/plot/axis.h"

#include <set>

#include <gtest/gtest.h>

namespace warpscope::ui::plot::axis_test {
namespace {

std::vector<std::string> labels(const Axis& axis, int wanted, Unit unit) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks(axis, wanted, unit)) result.push_back(tick.label);
  return result;
}

TEST(Axis, PixelsAndValuesAreInverses) {
  for (const bool logarithmic : {false, true}) {
    const Axis axis{0.002, 0.3, 400, 20, logarithmic};
    EXPECT_FLOAT_EQ(axis.to_pixel(0.002), 400);
    EXPECT_FLOAT_EQ(axis.to_pixel(0.3), 20);
    for (const double value : {0.002, 0.01, 0.05, 0.3})
      EXPECT_NEAR(axis.to_value(axis.to_pixel(value)), value, 1e-6);
  }
}

TEST(Axis, LogarithmicTakesEqualRoomForEqualRatios) {
  const Axis axis{1, 100, 0, 200, true};
  EXPECT_FLOAT_EQ(axis.to_pixel(10), 100);
  EXPECT_FALSE(axis.shows(0));
  EXPECT_FALSE(axis.shows(-1));
  EXPECT_LT(axis.to_pixel(0), -1000);
}

TEST(Ticks, StepsAreRound) {
  EXPECT_EQ(labels({0, 10000, 0, 1, false}, 5, Unit::count),
            (std::vector<std::string>{"0", "2,000", "4,000", "6,000", "8,000", "10,000"}));
  EXPECT_EQ(labels({0.01, 0.052, 0, 1, false}, 5, Unit::value),
            (std::vector<std::string>{"0.01", "0.02", "0.03", "0.04", "0.05"}));
}

TEST(Ticks, CountsHaveNoFractions) {
  EXPECT_EQ(labels({0.2, 3.1, 0, 1, false}, 10, Unit::count), (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Ticks, TimesStandAtWholeMinutesAndHours) {
  EXPECT_EQ(labels({0, 300, 0, 1, false}, 5, Unit::seconds),
            (std::vector<std::string>{"0:00", "1:00", "2:00", "3:00", "4:00", "5:00"}));
  EXPECT_EQ(labels({0, 7300, 0, 1, false}, 3, Unit::seconds),
            (std::vector<std::string>{"0:00", "1:00:00", "2:00:00"}));
  EXPECT_EQ(labels({0, 0.4, 0, 1, false}, 4, Unit::seconds),
            (std::vector<std::string>{"0.0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s"}));
}

TEST(Ticks, LogarithmicHasPowersOfTenAndWhatFitsBetween) {
  EXPECT_EQ(labels({0.008, 0.15, 0, 1, true}, 8, Unit::value),
            (std::vector<std::string>{"0.01", "0.02", "0.05", "0.1"}));
  EXPECT_EQ(labels({0.0008, 1.5, 0, 1, true}, 4, Unit::value),
            (std::vector<std::string>{"0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(labels({1e-8, 1, 0, 1, true}, 4, Unit::value).size(), 5u);
}

TEST(Ticks, ASmallLogarithmicRangeHasLinearTicks) {
  EXPECT_EQ(labels({0.0100, 0.0131, 0, 1, true}, 4, Unit::value),
            (std::vector<std::string>{"0.010", "0.011", "0.012", "0.013"}));
}

TEST(Ticks, LabelsOfNeighboursDiffer) {
  for (double width = 1e-6; width < 1e6; width *= 3.7) {
    const auto found = labels({0.1, 0.1 + width, 0, 1, false}, 8, Unit::value);
    EXPECT_GE(found.size(), 2u) << width;
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size()) << width;
  }
}

TEST(Ticks, AnEmptyRangeHasNone) {
  EXPECT_TRUE(ticks({1, 1, 0, 1, false}, 5, Unit::value).empty());
  EXPECT_TRUE(ticks({1, 1, 0, 1, true}, 5, Unit::value).empty());
}

}  // namespace
}  // namespace warpscope::ui::plot::axis_test
