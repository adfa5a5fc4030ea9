// Every metric is measured by some training, and only where its row in gpu/messages/metrics.cpp says.

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::metrics_test {
namespace {

using Keys = std::set<std::string>;

/// The points of thirty steps, and of the evaluations between.
std::vector<Point> points_of(TrainerOptions options) {
  options.start_paused = true;
  options.steps = 30;
  options.test_every = 10;
  Trainer trainer(options);
  tests::FeedLog feed(trainer.subscribe());
  trainer.send(Resume{});
  EXPECT_TRUE(trainer.wait(tests::kPatience));
  return feed.all<Point>();
}

TrainerOptions classifier() {
  TrainerOptions options = tests::tiny_trainer_options();
  options.model = tests::tiny_classifier();
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(40, 12));
  return options;
}

TrainerOptions with_head() {
  TrainerOptions options = tests::tiny_trainer_options();
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(40, 12));
  options.optimizer.joint = 0.5f;
  return options;
}

Keys measured(const std::vector<Point>& points, Split split) {
  Keys keys;
  for (const Point& point : points) {
    if (point.split != split) continue;
    for (const MetricRow& row : metrics()) {
      if (std::isfinite(point[row.metric])) keys.insert(row.key);
    }
  }
  return keys;
}

Keys with(Keys keys, const Keys& more) {
  keys.insert(more.begin(), more.end());
  return keys;
}

const Keys kOfAllSteps{"loss", "gradient_norm", "update_ratio", "learning_rate", "images_per_second"};

TEST(Metrics, OfATrainingAreThoseOfItsNetwork) {
  const std::vector<Point> rebuilt = points_of(tests::tiny_trainer_options());
  EXPECT_EQ(measured(rebuilt, Split::train), kOfAllSteps);
  EXPECT_EQ(measured(rebuilt, Split::test), (Keys{"loss", "psnr"}));
  const std::vector<Point> classified = points_of(classifier());
  EXPECT_EQ(measured(classified, Split::train), with(kOfAllSteps, {"accuracy"}));
  EXPECT_EQ(measured(classified, Split::test), (Keys{"loss", "accuracy"}));
  const std::vector<Point> joint = points_of(with_head());
  EXPECT_EQ(measured(joint, Split::train), with(kOfAllSteps, {"head_loss", "head_accuracy"}));
  EXPECT_EQ(measured(joint, Split::test), (Keys{"loss", "psnr", "head_loss", "head_accuracy"}));
}

TEST(Metrics, AreAllMeasured) {
  // FP16 needs a GPU; what observers measure is in tests/observers.
  Keys found{"loss_scale", "feature_accuracy"};
  for (const TrainerOptions& options : {tests::tiny_trainer_options(), classifier(), with_head()}) {
    const std::vector<Point> points = points_of(options);
    found = with(with(found, measured(points, Split::train)), measured(points, Split::test));
  }
  for (const MetricRow& row : metrics()) EXPECT_TRUE(found.contains(row.key)) << row.key;
}

TEST(Metrics, LieWhereTheyCan) {
  for (const TrainerOptions& options : {classifier(), with_head()}) {
    for (const Point& point : points_of(options)) {
      for (const Metric metric : {Metric::accuracy, Metric::head_accuracy}) {
        if (std::isnan(point[metric])) continue;
        const float images = 8 * 12 * point[metric];  // of a batch, of an evaluation
        EXPECT_NEAR(images, std::round(images), 1e-3f) << "a share of so many images";
        EXPECT_TRUE(point[metric] >= 0 && point[metric] <= 1) << point[metric];
      }
      if (point.split != Split::train) continue;
      EXPECT_GT(point[Metric::gradient_norm], 0) << point.step;
      EXPECT_GT(point[Metric::update_ratio], 0) << point.step;
      EXPECT_LT(point[Metric::update_ratio], 0.5f) << point.step;
    }
  }
}

TEST(Metrics, OfEachEvaluationAreSharesAndLosses) {
  for (const Point& point : points_of(with_head())) {
    if (std::isnan(point[Metric::head_loss])) continue;
    EXPECT_GT(point[Metric::head_loss], 0) << point.step;
    EXPECT_LT(point[Metric::head_loss], 5 * std::log(3.0f)) << "not far from guessing among three classes";
  }
}

}  // namespace
}  // namespace warpscope::training::metrics_test
