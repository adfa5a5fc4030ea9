#include "gpu/classifiers/metrics.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"

namespace warpscope::classifiers::metrics_test {
namespace {

TEST(Metrics, AccuracyIsCountedPerClassAndInAll) {
  const std::vector<int> truth{0, 0, 0, 1, 1, 3}, labels{0, 1, 0, 1, 3, 3};
  const Metrics metrics = measure(truth, labels, 4);
  EXPECT_EQ(metrics.rows, 6);
  EXPECT_EQ(metrics.right, 4);
  EXPECT_DOUBLE_EQ(metrics.accuracy, 4.0 / 6);
  EXPECT_DOUBLE_EQ(metrics.class_accuracy[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.class_accuracy[1], 0.5);
  EXPECT_TRUE(std::isnan(metrics.class_accuracy[2]));
  EXPECT_DOUBLE_EQ(metrics.class_accuracy[3], 1);
  EXPECT_EQ(metrics.confusion, (std::vector<long long>{2, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(metrics.confused(1, 3), 1);
}

TEST(Metrics, NoRowsHaveNoAccuracy) {
  EXPECT_EQ(measure({}, {}, 2).accuracy, 0);
}

TEST(Metrics, LabelsMustBeOneARowAndOfAClass) {
  const std::vector<int> two{0, 1}, three{0, 1, 1}, wrong{0, 2};
  EXPECT_THROW(measure(two, three, 2), core::BadInput);
  EXPECT_THROW(measure(two, wrong, 2), core::BadInput);
  EXPECT_THROW(measure(wrong, two, 2), core::BadInput);
}

}  // namespace
}  // namespace warpscope::classifiers::metrics_test
