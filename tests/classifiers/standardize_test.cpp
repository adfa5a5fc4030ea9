// Means and deviations of columns, and rows brought to them, on the CPU and, where there is one, on a GPU.

#include "gpu/classifiers/standardize.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/classifiers/random_features.h"
#include "tests/support/device_case.h"

namespace warpscope::classifiers::standardize_test {
namespace {

using tests::random_features;
using tests::RandomFeatures;

class Standardize : public tests::DeviceCase {
 protected:
  Place place() const { return {device_, stream_.get()}; }
};

INSTANTIATE_TEST_SUITE_P(Devices, Standardize, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param == "cuda" ? "Gpu" : "Cpu"; });

TEST_P(Standardize, ColumnsHaveMeanZeroAndDeviationOne) {
  for (const auto& [rows, columns] :
       {std::pair{1, 3}, std::pair{57, 300}, std::pair{1031, 7}, std::pair{64, 64}}) {
    RandomFeatures data = random_features({rows, columns, 3, 1, 0.5});
    for (float& value : data.values)
      value = value * 3 + 100;  // far from 0: sums of squares by themselves would lose digits
    const core::Buffer memory = uploaded(data.values.data(), data.values.size() * sizeof(float));
    const core::Buffer result = uploaded(std::vector<float>(data.values.size(), NAN).data(), memory.bytes());
    const FeatureMatrix features = data.on(memory.as<float>()).features;
    const Standardization by = find_standardization(place(), features);
    standardize(place(), by, features, result.as<float>());
    std::vector<float> made(data.values.size());
    stream_->copy(made.data(), result.data(), result.bytes());
    stream_->synchronize();
    for (int j = 0; j < columns; ++j) {
      double mean = 0, variance = 0;
      const auto at = [&](int row) {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + j;
      };
      for (int row = 0; row < rows; ++row) mean += static_cast<double>(data.values[at(row)]) / rows;
      for (int row = 0; row < rows; ++row) {
        variance += std::pow(static_cast<double>(data.values[at(row)]) - mean, 2) / rows;
      }
      EXPECT_NEAR(by.means[j], mean, 1e-12 * std::abs(mean));
      EXPECT_NEAR(by.deviations[j], std::sqrt(variance), 1e-9 * std::sqrt(variance));
      for (int row = 0; row < rows; ++row) {
        const double wanted =
            variance > 0 ? (static_cast<double>(data.values[at(row)]) - mean) / std::sqrt(variance) : 0;
        ASSERT_NEAR(made[at(row)], wanted, 1e-6 * (1 + std::abs(wanted)));
      }
    }
  }
}

TEST_P(Standardize, AConstantColumnBecomesZeroAndIsTold) {
  RandomFeatures data = random_features({1000, 5, 2, 1});
  for (std::size_t row = 0; row < 1000; ++row) data.values[5 * row + 3] = 0.1f;
  const core::Buffer memory = uploaded(data.values.data(), data.values.size() * sizeof(float));
  const FeatureMatrix features = data.on(memory.as<float>()).features;
  const Standardization by = find_standardization(place(), features);
  EXPECT_EQ(by.constant_columns, 1);
  EXPECT_EQ(by.remark(), "1 of 5 columns is the same in all training rows and became 0");
  // In place; other rows may differ there.
  const float other = 7;
  stream_->copy(memory.as<float>() + 3, &other, sizeof other);
  standardize(place(), by, features, memory.as<float>());
  std::vector<float> made(data.values.size());
  stream_->copy(made.data(), memory.data(), memory.bytes());
  stream_->synchronize();
  for (std::size_t row = 0; row < 1000; ++row) ASSERT_EQ(made[5 * row + 3], 0);
}

TEST_P(Standardize, ANumberThatIsNotFiniteIsNamed) {
  RandomFeatures data = random_features({300, 70, 2, 1});
  data.values[70 * 200 + 5] = -std::numeric_limits<float>::infinity();
  data.values[70 * 123 + 69] = std::numeric_limits<float>::quiet_NaN();
  const core::Buffer memory = uploaded(data.values.data(), data.values.size() * sizeof(float));
  try {
    find_standardization(place(), data.on(memory.as<float>()).features);
    FAIL() << "NaN was taken";
  } catch (const core::BadInput& error) {
    EXPECT_STREQ(error.what(), "the training rows hold NaN in row 123, column 69 (both counted from 0)");
  }
}

}  // namespace
}  // namespace warpscope::classifiers::standardize_test
