#include "ui/plot/range_sums.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "ui/plot/range_box.h"

namespace warpscope::ui::plot::range_sums_test {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

RangeFigures figures_of(const Series& series, Axes axes, std::size_t first, std::size_t last) {
  RangeSums sums;
  EXPECT_TRUE(sums.follow(series, axes, kAll));
  return sums.figures(series, first, last);
}

// y = 3 x^-0.5 and the like, far from the origin, so that sums that are not centred would cancel.
TEST(RangeFigures, FindTheLineOnTheAxesOfThePlot) {
  for (const bool log_x : {false, true}) {
    for (const bool log_y : {false, true}) {
      SCOPED_TRACE(testing::Message() << "log x " << log_x << ", log y " << log_y);
      Series series;
      for (int i = 0; i < 5000; ++i) {
        const double x = 1e6 + i, u = log_x ? std::log(x) : x - 1e6;
        const double v = 2 - 0.0005 * u;
        series.append(x, static_cast<float>(log_y ? std::exp(v) : v));
      }
      const Fit fit = figures_of(series, {log_x, log_y}, 0, 5000).fit;
      ASSERT_TRUE(fit.valid);
      // The values are floats: those of the flattest line differ only in their last digits.
      EXPECT_NEAR(fit.slope, -0.0005, log_x ? 5e-5 : 1e-7);
      EXPECT_NEAR(fit.at(1e6 + 1234), static_cast<double>(series.y(1234)), 1e-4);
    }
  }
}

TEST(RangeFigures, AreThoseOfSumsByHand) {
  std::mt19937 random(3);
  std::lognormal_distribution<float> value(0, 1);
  Series series;
  for (int i = 0; i < 10000; ++i)
    series.append(i, i % 50 == 0 ? std::numeric_limits<float>::quiet_NaN() : value(random));
  RangeSums sums;
  ASSERT_TRUE(sums.follow(series, {}, kAll));
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 10000},
                                    {1, 9999},
                                    {1023, 2049},
                                    {1024, 2048},
                                    {5000, 5003},
                                    {100, 700}}) {
    SCOPED_TRACE(testing::Message() << first << " to " << last);
    double count = 0, x_sum = 0, y_sum = 0, low = 1e9, high = -1e9;
    for (std::size_t i = first; i < last; ++i) {
      const double y = static_cast<double>(series.y(i));
      if (!std::isfinite(y)) continue;
      ++count, x_sum += series.x(i), y_sum += y, low = std::min(low, y), high = std::max(high, y);
    }
    double xx = 0, xy = 0;
    for (std::size_t i = first; i < last; ++i) {
      const double y = static_cast<double>(series.y(i)), x = series.x(i) - x_sum / count;
      if (std::isfinite(y)) xx += x * x, xy += x * (y - y_sum / count);
    }
    const RangeFigures figures = sums.figures(series, first, last);
    EXPECT_EQ(figures.points, static_cast<std::size_t>(count));
    EXPECT_NEAR(figures.mean, y_sum / count, 1e-9);
    EXPECT_EQ(figures.low, low);
    EXPECT_EQ(figures.high, high);
    EXPECT_NEAR(figures.fit.slope, xy / xx, 1e-9 + 1e-9 * std::abs(xy / xx));
    EXPECT_GE(figures.fit.r2, 0);
    EXPECT_LE(figures.fit.r2, 1 + 1e-12);
  }
}

TEST(RangeFigures, WhatHasNoPlaceOnTheAxesCountsForTheMeanAlone) {
  Series series;
  for (const float y : {-1.0f, 1.0f, std::exp(1.0f)}) series.append(static_cast<double>(series.size()), y);
  const RangeFigures figures = figures_of(series, {.log_y = true}, 0, 3);
  EXPECT_EQ(figures.points, 3u);
  EXPECT_NEAR(figures.mean, (std::exp(1.0)) / 3, 1e-6);
  EXPECT_NEAR(figures.fit.slope, 1, 1e-6) << "of the two positive ones";
}

TEST(RangeFigures, OfNothingAndOfOnePointThereIsNoLine) {
  Series series;
  EXPECT_EQ(figures_of(series, {}, 0, 10).points, 0u);
  series.append(5, 2);
  const RangeFigures one = figures_of(series, {}, 0, 1);
  EXPECT_EQ(one.points, 1u);
  EXPECT_FALSE(one.fit.valid);
  series.append(5, 3);
  EXPECT_FALSE(figures_of(series, {}, 0, 2).fit.valid) << "two points of one x";
  EXPECT_EQ(figures_of(series, {}, 2, 1).points, 0u);
}

TEST(RangeSums, FollowACurveThatGrowsOrBeginsAnew) {
  Series series;
  for (int i = 0; i < 3000; ++i) series.append(i, 1);
  RangeSums sums;
  EXPECT_FALSE(sums.follow(series, {}, 1024)) << "a part a call";
  EXPECT_TRUE(sums.follow(series, {}, 1024));
  for (int i = 3000; i < 5000; ++i) series.append(i, 3);
  EXPECT_TRUE(sums.follow(series, {}, kAll));
  EXPECT_NEAR(sums.figures(series, 0, 5000).mean, 1.8, 1e-12);
  series.clear();
  for (int i = 0; i < 5000; ++i) series.append(i, 7);
  EXPECT_TRUE(sums.follow(series, {}, kAll));
  EXPECT_EQ(sums.figures(series, 0, 5000).mean, 7);
}

TEST(FitText, SaysWhatTheSlopeMeansOnTheAxes) {
  Fit fit{.axes = {}, .slope = -0.000125, .valid = true};
  EXPECT_EQ(fit_text(fit, Unit::count, "step"), "-0.000125 a step");
  EXPECT_EQ(fit_text(fit, Unit::seconds, "time"), "-0.000125 a second");
  fit.axes = {.log_y = true};
  fit.slope = -std::log(2.0) / 3012;
  EXPECT_EQ(fit_text(fit, Unit::count, "step"), "halves in 3,012 steps");
  fit.slope = std::log(2.0) / 1.5;
  EXPECT_EQ(fit_text(fit, Unit::value, "epoch"), "doubles in 1.50 epochs");
  fit.slope = -std::log(2.0) / 90;
  EXPECT_EQ(fit_text(fit, Unit::seconds, "time"), "halves in 1:30");
  fit.slope = 0;
  EXPECT_EQ(fit_text(fit, Unit::count, "step"), "constant");
  fit.axes = {.log_x = true};
  fit.slope = 1;
  EXPECT_EQ(fit_text(fit, Unit::count, "step"), "+2.3 a factor of 10");
  fit.axes = {true, true};
  fit.slope = -0.5125;
  EXPECT_EQ(fit_text(fit, Unit::count, "step"), "~ step^-0.512");
  EXPECT_EQ(fit_text({}, Unit::count, "step"), "-");
}

}  // namespace
}  // namespace warpscope::ui::plot::range_sums_test
