#include "ui/plot/curve.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace warpscope::ui::plot::curve_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Extent by_hand(const Series& series, std::size_t first, std::size_t last) {
  Extent extent;
  for (std::size_t i = first; i < last && i < series.size(); ++i) extent.include(series.y(i));
  return extent;
}

void expect_same(const Extent& a, const Extent& b) {
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.least_positive, b.least_positive);
}

Series random_series(std::size_t points, unsigned seed, double gaps) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0, 1);
  std::uniform_real_distribution<double> chance(0, 1);
  Series series;
  double x = 0;
  for (std::size_t i = 0; i < points; ++i) {
    x += chance(random) < 0.2 ? 0.0 : chance(random);
    series.append(x, chance(random) < gaps ? kNaN : value(random));
  }
  return series;
}

TEST(Series, ExtentOfAnyRangeIsExact) {
  for (const std::size_t points : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 63u, 64u, 65u, 100u, 129u, 257u}) {
    const Series series = random_series(points, static_cast<unsigned>(points), 0.1);
    for (std::size_t first = 0; first <= points; ++first) {
      for (std::size_t last = first; last <= points; ++last) {
        SCOPED_TRACE(testing::Message() << points << ": " << first << ".." << last);
        expect_same(series.extent(first, last), by_hand(series, first, last));
      }
    }
  }
}

TEST(Series, ExtentStaysExactWhilePointsAreAppended) {
  Series series;
  std::mt19937 random(5);
  std::normal_distribution<float> value(0, 1);
  for (int i = 0; i < 300; ++i) {
    series.append(i, value(random));
    expect_same(series.extent(0, series.size()), by_hand(series, 0, series.size()));
    const std::size_t half = series.size() / 2;
    expect_same(series.extent(half, series.size()), by_hand(series, half, series.size()));
  }
}

TEST(Series, ColumnsHoldEveryPointOnceWithItsExtent) {
  const Series series = random_series(20000, 7, 0.05);
  const double end = series.x(series.size() - 1);
  for (const int count : {1, 3, 640, 4000}) {
    const auto columns = series.columns(end * 0.1, end * 0.7, count);
    const double width = (end * 0.7 - end * 0.1) / count;
    ASSERT_EQ(columns.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(columns.front().first, series.lower_bound(end * 0.1));
    EXPECT_EQ(columns.back().last, series.lower_bound(end * 0.7));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) {
        EXPECT_EQ(columns[i].first, columns[i - 1].last);
        EXPECT_EQ(columns[i].first, series.lower_bound(end * 0.1 + static_cast<double>(i) * width));
      }
      expect_same(columns[i].extent, by_hand(series, columns[i].first, columns[i].last));
    }
  }
}

// Steps of very different lengths: the number of points in a column tells nothing about the next.
TEST(Series, ColumnsOfUnevenPointsAreThoseOfABinarySearch) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> exponent(-12, 4);
  Series series;
  double x = 0;
  for (int i = 0; i < 5000; ++i) series.append(x += std::ldexp(1.0, exponent(random)), 1);
  for (const int count : {1, 7, 64, 1024}) {
    const auto columns = series.columns(0, 8192, count);
    for (int i = 0; i < count; ++i) {
      SCOPED_TRACE(testing::Message() << i << " of " << count);
      const Column& column = columns[static_cast<std::size_t>(i)];
      EXPECT_EQ(column.first, series.lower_bound(i * (8192.0 / count)));
      EXPECT_EQ(column.last, series.lower_bound(i + 1 == count ? 8192.0 : (i + 1) * (8192.0 / count)));
    }
  }
}

TEST(Series, LogarithmicColumnsAreEqualRatios) {
  Series series;
  for (int i = 1; i <= 10000; ++i) series.append(i, static_cast<float>(i % 97));
  for (const int count : {1, 4, 300}) {
    const auto columns = series.columns(1, 10000, count, true);
    EXPECT_EQ(columns.front().first, 0u);
    EXPECT_EQ(columns.back().last, 9999u) << "the right edge is not in it";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      SCOPED_TRACE(testing::Message() << i << " of " << count);
      const double left = std::pow(10000.0, static_cast<double>(i) / count);
      if (i > 0) {
        EXPECT_EQ(columns[i].first, columns[i - 1].last);
      }
      if (columns[i].first < columns[i].last) {
        EXPECT_GE(series.x(columns[i].first), left * (1 - 1e-12));
      }
      expect_same(columns[i].extent, by_hand(series, columns[i].first, columns[i].last));
    }
  }
  const auto decades = series.columns(1, 10000, 4, true);
  EXPECT_NEAR(static_cast<double>(decades[1].first), 9, 1) << "where 10 stands";
  EXPECT_NEAR(static_cast<double>(decades[3].first), 999, 1);
}

TEST(Series, GenerationsTellWhetherPointsWereDropped) {
  Series one, other;
  EXPECT_NE(one.generation(), other.generation());
  const std::uint64_t before = one.generation();
  one.append(1, 1);
  EXPECT_EQ(one.generation(), before);
  one.clear();
  EXPECT_NE(one.generation(), before);
}

TEST(Series, OneSpikeInAMillionPointsIsInItsColumn) {
  Series series;
  for (int i = 0; i < 1000000; ++i) series.append(i, i == 654321 ? 50.0f : 1.0f);
  const auto columns = series.columns(0, 1e6, 1000);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    EXPECT_EQ(columns[i].extent.high, i == 654 ? 50.0f : 1.0f) << "column " << i;
    EXPECT_EQ(columns[i].extent.low, 1.0f);
  }
}

TEST(Series, ValuesThatAreNotFiniteAreGaps) {
  Series series;
  series.append(0, kNaN);
  series.append(1, 2);
  series.append(2, kInfinity);
  series.append(3, -kInfinity);
  series.append(4, -1);
  EXPECT_TRUE(series.extent(0, 1).empty());
  EXPECT_TRUE(series.extent(2, 4).empty());
  expect_same(series.extent(0, 5), Extent{-1, 2, 2});
  EXPECT_TRUE(std::isnan(series.y(0)));
}

TEST(Series, EmptyRangesHaveNoExtent) {
  Series series;
  EXPECT_TRUE(series.extent(0, 10).empty());
  EXPECT_TRUE(series.columns(0, 1, 4).front().extent.empty());
  series.append(0, 1);
  EXPECT_TRUE(series.extent(1, 1).empty());
  EXPECT_TRUE(series.extent(1, 5).empty());
  EXPECT_TRUE(series.columns(0, 1, 0).empty());
}

TEST(Series, ClearStartsAgain) {
  Series series = random_series(1000, 3, 0);
  series.clear();
  EXPECT_TRUE(series.empty());
  series.append(-5, 4);
  EXPECT_EQ(series.x(0), -5);
  expect_same(series.extent(0, 1), Extent{4, 4, 4});
}

TEST(Series, XThatGoesBackIsHeldAtTheLastOne) {
  Series series;
  series.append(3, 1);
  series.append(2, 1);
  series.append(std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_EQ(series.x(1), 3);
  EXPECT_EQ(series.x(2), 3);
}

TEST(Series, OfOneTableShareTheirX) {
  std::vector<double> steps, seconds;
  Series series;
  series.share_x(steps);
  for (int i = 0; i < 1000; ++i) {
    steps.push_back(i);
    seconds.push_back(0.5 * i);
    series.append(static_cast<float>(i % 13));
  }
  steps.push_back(1000);  // the table is a row ahead
  EXPECT_EQ(series.size(), 1000u);
  EXPECT_EQ(series.lower_bound(1e9), 1000u);
  EXPECT_EQ(series.lower_bound(500), 500u);
  EXPECT_EQ(series.nearest(1000), 999u);
  const std::uint64_t before = series.generation();
  series.share_x(seconds);
  EXPECT_NE(series.generation(), before);
  EXPECT_EQ(series.x(10), 5);
  EXPECT_EQ(series.lower_bound(250), 500u);
  EXPECT_EQ(series.extent(0, 1000).high, 12);
  std::size_t points = 0;
  for (const Column& column : series.columns(0, 500, 7)) points += column.last - column.first;
  EXPECT_EQ(points, 1000u);
}

TEST(Series, CutsKeepTheExtentsOfWhatIsLeft) {
  Series series;
  for (int i = 0; i < 700; ++i) series.append(i, i == 600 ? 99.0f : static_cast<float>(i % 7));
  const std::uint64_t before = series.generation();
  series.cut(700);
  EXPECT_EQ(series.generation(), before) << "nothing was cut";
  series.cut(601);
  EXPECT_NE(series.generation(), before);
  EXPECT_EQ(series.extent(0, 601).high, 99);
  series.cut(600);
  EXPECT_EQ(series.size(), 600u);
  EXPECT_EQ(series.extent(0, 600).high, 6);
  for (int i = 600; i < 900; ++i) series.append(i, i == 850 ? -5.0f : 3.0f);
  EXPECT_EQ(series.extent(599, 900).low, -5);
  EXPECT_EQ(series.extent(598, 850).low, 3);
  EXPECT_EQ(series.extent(0, 900).high, 6);
}

TEST(Series, RoomThatWasReservedIsNoPoint) {
  Series series;
  series.reserve(100'000);
  EXPECT_TRUE(series.empty());
  EXPECT_TRUE(series.extent(0, 5).empty());
  for (int i = 0; i < 21; ++i) series.append(i, static_cast<float>(i));
  EXPECT_EQ(series.extent(2, 20).low, 2);
  EXPECT_EQ(series.extent(2, 20).high, 19);
}

TEST(Series, NearestChoosesTheCloserNeighbour) {
  Series series;
  for (const double x : {1.0, 2.0, 10.0}) series.append(x, 0);
  EXPECT_EQ(series.nearest(-4), 0u);
  EXPECT_EQ(series.nearest(1.4), 0u);
  EXPECT_EQ(series.nearest(1.6), 1u);
  EXPECT_EQ(series.nearest(5.9), 1u);
  EXPECT_EQ(series.nearest(6.1), 2u);
  EXPECT_EQ(series.nearest(99), 2u);
}

}  // namespace
}  // namespace warpscope::ui::plot::curve_test
