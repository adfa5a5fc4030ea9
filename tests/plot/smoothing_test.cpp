#include "ui/plot/smoothing.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::plot {
namespace {

TEST(Smoother, AConstantStaysThatConstantFromTheFirstValueOn) {
  for (const double weight : {0.0, 0.5, 0.9, 0.999}) {
    Smoother smoother(weight);
    for (int i = 0; i < 100; ++i) EXPECT_NEAR(smoother.next(0.25f), 0.25f, 1e-6f) << weight;
  }
}

TEST(Smoother, IsTheWeightedMeanOfAllValuesSoFar) {
  const std::vector<float> values{3, 1, 4, 1, 5, 9, 2, 6};
  constexpr double kWeight = 0.8;
  Smoother smoother(kWeight);
  for (std::size_t n = 0; n < values.size(); ++n) {
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i <= n; ++i) {
      const double weight = std::pow(kWeight, static_cast<double>(n - i));
      sum += weight * static_cast<double>(values[i]);
      weights += weight;
    }
    EXPECT_NEAR(smoother.next(values[n]), sum / weights, 1e-5);
  }
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
}  // namespace warpscope::ui::plot
