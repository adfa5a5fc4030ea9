#include "ui/panels/loss_history.h"

#include <gtest/gtest.h>

namespace warpscope::ui {
namespace {

training::LossPoint step(std::uint64_t number, float loss) {
  return {number, static_cast<double>(number) / 10, loss, 0.1f, 0, static_cast<double>(number) * 0.5};
}

TEST(LossHistory, KeepsEveryStepAndTest) {
  LossHistory history;
  for (std::uint64_t i = 1; i <= 5000; ++i) history.consume(step(i, 1.0f / static_cast<float>(i)));
  history.consume(training::TestPoint{5000, 500, 2500, 0.02f, 17.0f});
  EXPECT_EQ(history.train().size(), 5000u);
  EXPECT_EQ(history.smoothed().size(), 5000u);
  EXPECT_EQ(history.train().x(4999), 5000);
  EXPECT_EQ(history.test().size(), 1u);
  EXPECT_FLOAT_EQ(history.last_test().psnr, 17.0f);
}

TEST(LossHistory, OverTimeMovesCurvesAndMarkers) {
  LossHistory history;
  history.consume(step(1, 1));
  history.consume(step(2, 0.5f));
  history.consume(training::Marker{2, 1.0, "batch 64 -> 128"});
  history.set_over_time(true);
  EXPECT_EQ(history.train().x(1), 1.0);
  EXPECT_EQ(history.markers().at(0).x, 1.0);
  history.set_over_time(false);
  EXPECT_EQ(history.train().x(1), 2.0);
  EXPECT_EQ(history.markers().at(0).x, 2.0);
}

TEST(LossHistory, SmoothingChangesTheSmoothedCurveAlone) {
  LossHistory history;
  for (std::uint64_t i = 1; i <= 10; ++i) history.consume(step(i, i % 2 == 0 ? 1.0f : 3.0f));
  history.set_smoothing(1);
  EXPECT_FLOAT_EQ(history.smoothed().y(9), 1.0f);
  history.set_smoothing(100);
  EXPECT_NEAR(history.smoothed().y(9), 2.0f, 0.1f);
  EXPECT_FLOAT_EQ(history.train().y(9), 1.0f);
}

TEST(LossHistory, RestartKeepsTheOlderCurveToCompareWith) {
  LossHistory history;
  history.consume(step(1, 1));
  history.consume(training::TestPoint{1, 0.1, 0.5, 0.9f, 1.0f});
  history.consume(training::Marker{1, 0.5, "x"});
  history.consume(training::Restart{1});
  EXPECT_TRUE(history.train().empty());
  EXPECT_TRUE(history.test().empty());
  EXPECT_TRUE(history.markers().empty());
  EXPECT_EQ(history.last_test().step, 0u);
  EXPECT_EQ(history.before().size(), 1u);
  history.consume(training::Restart{2});
  EXPECT_EQ(history.before().size(), 1u) << "a restart without a step has nothing to keep";
}

TEST(LossHistory, DescribesTheNearestStep) {
  LossHistory history;
  EXPECT_EQ(history.describe(3), "");
  for (std::uint64_t i = 1; i <= 2000; ++i) history.consume(step(i, 1));
  EXPECT_EQ(history.describe(1233.7), "step 1,234 \xC2\xB7 epoch 123.40 \xC2\xB7 10:17 \xC2\xB7 rate 0.1");
}

}  // namespace
}  // namespace warpscope::ui
