// The one rule by which histories thin out.

#include "gpu/messages/step_history.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::training::step_history_test {
namespace {

using History = StepHistory<int>;

TEST(StepHistory, KeepsStepsEvenlyOnALogarithmWithinItsMemoryAndTheFirstAndTheNewest) {
  constexpr std::size_t kBytes = 10, kMost = 40 * kBytes;
  History history;
  for (std::uint64_t step = 500; step <= 20000; ++step) {
    history.add(step, kBytes, 0);
    while (history.bytes() > kMost && history.thin()) {
    }
    ASSERT_LE(history.bytes(), kMost);
    ASSERT_EQ(history.entries().front().step, 500u);
    ASSERT_EQ(history.entries().back().step, step);
  }
  const auto& kept = history.entries();
  EXPECT_GT(kept.size(), 13u) << "the memory is used";
  // Once steps since the first are more than a place apart, neighbours have one ratio, but for what is left of the
  // last place and of roundings to whole steps.
  double least = 1e9, most = 0;
  for (std::size_t i = kept.size() / 2; i + 2 < kept.size(); ++i) {
    const double ratio =
        static_cast<double>(kept[i + 1].step - 499) / static_cast<double>(kept[i].step - 499);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  EXPECT_GT(least, 1.1);
  EXPECT_LT(most, 1.15 * least);
}

TEST(StepHistory, WantsWhatWillStay) {
  History history(2);  // places 0, 1, 3, 7, ... steps since the first
  EXPECT_TRUE(history.wants(8));
  history.add(8, 1, 1);
  EXPECT_TRUE(history.wants(9));
  history.add(9, 1, 2);
  EXPECT_FALSE(history.wants(10));
  history.add(10, 1, 3);
  history.add(11, 1, 4);
  ASSERT_EQ(history.entries().size(), 3u) << "10 was the newest for a while only";
  EXPECT_EQ(history.entries()[1].kept, 2);
  EXPECT_EQ(history.entries()[2].kept, 4);
  EXPECT_TRUE(history.wants(9)) << "the training has gone back";
  history.add(9, 1, 5);
  ASSERT_EQ(history.entries().size(), 2u);
  EXPECT_EQ(history.entries()[1].kept, 5);
}

TEST(StepHistory, GivesTheNearestStep) {
  History history;
  EXPECT_EQ(history.nearest(3), nullptr);
  for (const int step : {3, 10, 40}) history.add(static_cast<std::uint64_t>(step), 1, step);
  const std::vector<std::pair<std::uint64_t, int>> wanted{{0, 3},   {3, 3},   {6, 3},   {7, 10},
                                                          {25, 10}, {26, 40}, {40, 40}, {1000, 40}};
  for (const auto& [step, nearest] : wanted) {
    EXPECT_EQ(history.nearest(step)->kept, nearest) << step;
  }
  history.forget_after(39);
  EXPECT_EQ(history.nearest(1000)->kept, 10);
}

}  // namespace
}  // namespace warpscope::training::step_history_test
