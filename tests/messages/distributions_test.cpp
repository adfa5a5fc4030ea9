// Moments of distributions are kept evenly on a logarithm, in bounded memory.

#include "gpu/messages/distributions.h"

#include <gtest/gtest.h>

namespace warpscope::training::distributions_test {
namespace {

std::shared_ptr<const DistributionMoment> moment(std::uint64_t step) {
  auto result = std::make_shared<DistributionMoment>();
  result->step = step;
  result->distributions[{1, Quantity::weights}].squares = 4;
  return result;
}

TEST(DistributionHistory, KeepsTheFirstStepsAndThenEvenlyOnALogarithm) {
  DistributionHistory history;
  for (std::uint64_t step = 1000; step <= 21000; ++step) history.add(0, moment(step));
  const auto& moments = history.moments();
  EXPECT_EQ(moments.front()->step, 1000u);
  EXPECT_EQ(moments[5]->step, 1005u);
  EXPECT_EQ(moments.back()->step, 21000u);
  EXPECT_LT(moments.size(), 500u);
  for (std::size_t i = 60; i + 2 < moments.size(); ++i) {
    const auto since = static_cast<double>(moments[i]->step - 999);
    const auto next = static_cast<double>(moments[i + 1]->step - 999);
    EXPECT_GT(next / since, 1.0) << i;
    EXPECT_LT(next / since, 1.06) << i;
  }
}

TEST(DistributionHistory, StaysWithinItsMemoryWithFirstAndLast) {
  const std::size_t most = 40 * moment(0)->bytes();
  DistributionHistory history(most);
  for (std::uint64_t step = 0; step < 5000; ++step) {
    history.add(0, moment(step));
    ASSERT_LE(history.moments().size() * moment(0)->bytes(), most);
  }
  EXPECT_EQ(history.moments().front()->step, 0u);
  EXPECT_EQ(history.moments().back()->step, 4999u);
  EXPECT_GT(history.moments().size(), 10u);
}

TEST(DistributionHistory, GoesBackWithTheTrainingAndBeginsAnewWithAReset) {
  DistributionHistory history;
  for (const std::uint64_t step : {1u, 2u, 3u, 4u}) history.add(0, moment(step));
  history.add(0, moment(3));
  ASSERT_EQ(history.moments().size(), 3u);
  EXPECT_EQ(history.moments().back()->step, 3u);
  history.add(1, moment(9));
  ASSERT_EQ(history.moments().size(), 1u);
  EXPECT_EQ(history.generation(), 1u);
}

TEST(DistributionMoments, KnowWhatTheyHaveAndWhatNot) {
  DistributionMoment one = *moment(1);
  EXPECT_NE(one.find(1, Quantity::weights), nullptr);
  EXPECT_EQ(one.find(2, Quantity::weights), nullptr);
  EXPECT_FALSE(one.update_ratio(1).has_value());
  one.distributions[{1, Quantity::updates}].squares = 1;
  EXPECT_DOUBLE_EQ(*one.update_ratio(1), 0.5);
}

}  // namespace
}  // namespace warpscope::training::distributions_test
