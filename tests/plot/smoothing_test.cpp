#include "ui/plot/smoothing.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace warpscope::ui::plot::smoothing_test {
namespace {

TEST(Smoother, AConstantStaysThatConstantFromTheFirstValueOn) {
  for (const double weight : {0.0, 0.5, 0.9, 0.999}) {
    Smoother smoother(weight);
    for (int i = 0; i < 100; ++i) EXPECT_NEAR(smoother.next(0.25f), 0.25f, 1e-6f) << weight;
  }
}

TEST(Smoother, IsTheExponentialAverageOnceTheCurveIsLongerThanFiveWindows) {
  constexpr double kWeight = 0.8;
  Smoother smoother(kWeight);
  double expected = 0;
  for (int t = 1; t <= 200; ++t) {
    const float value = static_cast<float>(std::sin(0.3 * t)) + (t % 7 == 0 ? 2.0f : 0.0f);
    const float smoothed = smoother.next(value);
    if (t > 21) {
      expected = kWeight * expected + (1 - kWeight) * static_cast<double>(value);
      EXPECT_NEAR(smoothed, expected, 1e-5) << t;
    } else {
      expected = static_cast<double>(smoothed);
    }
  }
}

TEST(Smoother, ALeapInTheFirstStepsIsForgottenAFewDozenStepsLater) {
  Smoother smoother(0.98);
  for (const float value : {0.25f, 0.25f, 25.0f}) smoother.next(value);
  float smoothed = 0;
  for (int t = 4; t <= 30; ++t) smoothed = smoother.next(0.1f);
  EXPECT_NEAR(smoothed, 0.1f, 0.02f);
  Smoother steady(0.98);
  for (int t = 1; t <= 400; ++t) steady.next(0.1f);
  EXPECT_NEAR(steady.next(5.1f), 0.2f, 1e-3f) << "later the chosen window is what counts";
}

TEST(Smoother, WeightZeroChangesNothing) {
  Smoother smoother(0);
  for (const float value : {2.0f, -1.0f, 7.5f}) EXPECT_FLOAT_EQ(smoother.next(value), value);
}

TEST(Smoother, GapsComeOutAsGapsAndLeaveTheMean) {
  Smoother with_gap(0.9), without(0.9);
  with_gap.next(1);
  without.next(1);
  EXPECT_TRUE(std::isnan(with_gap.next(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(with_gap.next(std::numeric_limits<float>::infinity())));
  EXPECT_EQ(with_gap.next(2), without.next(2));
}

TEST(Smoother, WeightForAnAverageOverSteps) {
  EXPECT_EQ(weight_for(0.5), 0);
  EXPECT_EQ(weight_for(1), 0);
  EXPECT_DOUBLE_EQ(weight_for(50), 0.98);
}

}  // namespace
}  // namespace warpscope::ui::plot::smoothing_test
