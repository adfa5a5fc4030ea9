// The two medians of speeds: over all steps, and over those of the last second.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/quantile.h"
#include "gpu/core/random.h"
#include "gpu/runs/running_median.h"
#include "gpu/runs/step_speeds.h"

namespace warpscope::training::medians_test {
namespace {

TEST(RunningMedian, IsThatOfAllNumbersSoFar) {
  RunningMedian median;
  EXPECT_TRUE(std::isnan(median.value()));
  std::vector<double> sorted;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto value = static_cast<float>(core::random_unit(3, i));
    median.add(value);
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), static_cast<double>(value)),
                  static_cast<double>(value));
    ASSERT_DOUBLE_EQ(median.value(), core::quantile(sorted, 0.5)) << i;
  }
}

TEST(RunningMedian, OfAnEvenCountIsTheMeanOfTheTwoInTheMiddle) {
  RunningMedian median;
  for (const float value : {40.0f, 10.0f, 38.0f, 30.0f}) median.add(value);
  EXPECT_EQ(median.value(), 34);
  median.truncate(3);
  EXPECT_EQ(median.value(), 38);
  median.truncate(2);
  EXPECT_EQ(median.value(), 25);
}

TEST(StepSpeeds, AreThoseOfTheLastSecond) {
  StepSpeeds speeds;
  EXPECT_FALSE(speeds.median());
  for (int i = 1; i <= 100; ++i) speeds.add(0.01 * i, 1000);
  // A slow step at the end takes none of the others away that the second holds.
  for (int i = 1; i <= 60; ++i) speeds.add(1 + 0.01 * i, 500);
  speeds.add(1.7, 10);
  EXPECT_EQ(speeds.median(), 500);
  speeds.add(2.65, 20);
  EXPECT_EQ(speeds.median(), 15) << "two are left";
}

TEST(StepSpeeds, StepsWithoutATimeOfTheirOwnDoNotCount) {
  StepSpeeds speeds;
  speeds.add(0.1, 0);
  speeds.add(0.2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(speeds.median());
  speeds.add(0.3, 7);
  EXPECT_EQ(speeds.median(), 7);
}

TEST(StepSpeeds, AStepWithoutATimeTakesAsLongAsMost) {
  StepSpeeds speeds;
  EXPECT_EQ(speeds.usual_seconds(64, 0.5), 0.5);
  for (int i = 1; i <= 9; ++i) speeds.add(0.001 * i, 64'000);
  speeds.add(0.1, 640);  // others had the processor
  EXPECT_EQ(speeds.usual_seconds(64, 0.5), 0.001);
}

TEST(StepSpeeds, ATrainingThatWentBackBeginsAnew) {
  StepSpeeds speeds;
  speeds.add(5.0, 100);
  speeds.add(4.5, 30);
  EXPECT_EQ(speeds.median(), 30);
  speeds.clear();
  EXPECT_FALSE(speeds.median());
}

}  // namespace
}  // namespace warpscope::training::medians_test
