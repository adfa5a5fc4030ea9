// k nearest neighbours against distances in double precision, on the CPU and, where there is one, on a GPU.

#include "gpu/classifiers/nearest/nearest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/classifiers/random_features.h"
#include "tests/support/device_case.h"

namespace warpscope::classifiers::nearest::nearest_test {
namespace {

using tests::random_features;
using tests::RandomFeatures;

class Nearest : public tests::DeviceCase {
 protected:
  Place place() const { return {device_, stream_.get()}; }
  Neighbours find(const RandomFeatures& training, const RandomFeatures& rows, int k) {
    const core::Buffer own = uploaded(training.values.data(), training.values.size() * sizeof(float));
    const core::Buffer other = uploaded(rows.values.data(), rows.values.size() * sizeof(float));
    return find_neighbours(place(), training.on(own.as<float>()).features,
                           rows.on(other.as<float>()).features, k);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, Nearest, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param == "cuda" ? "Gpu" : "Cpu"; });

/// All training rows by their distance to a row, nearest first.
std::vector<std::pair<double, std::int64_t>> all_distances(const RandomFeatures& training,
                                                           const RandomFeatures& rows, std::size_t row) {
  std::vector<std::pair<double, std::int64_t>> all;
  const auto columns = static_cast<std::size_t>(rows.columns);
  for (std::size_t other = 0; other < training.labels.size(); ++other) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      sum += std::pow(static_cast<double>(rows.values[row * columns + j]) -
                          static_cast<double>(training.values[other * columns + j]),
                      2);
    }
    all.emplace_back(sum, static_cast<std::int64_t>(other));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_P(Nearest, NeighboursAreThoseWithTheLeastDistances) {
  struct Case {
    int training, rows, columns, k;
    float offset;
  };
  for (const Case& one : {Case{1, 3, 5, 1, 0}, Case{130, 70, 64, 64, 0}, Case{517, 33, 31, 7, 0},
                          Case{2000, 129, 20, 10, 50}, Case{64, 5, 1, 64, 0}}) {
    RandomFeatures training = random_features({one.training, one.columns, 1, 1});
    RandomFeatures rows = random_features({one.rows, one.columns, 1, 1, 0, 9});
    for (float& value : training.values) value += one.offset;
    for (float& value : rows.values) value += one.offset;
    const Neighbours found = find(training, rows, one.k);
    ASSERT_EQ(found.rows.size(), static_cast<std::size_t>(one.rows) * static_cast<std::size_t>(one.k));
    for (std::size_t row = 0; row < static_cast<std::size_t>(one.rows); ++row) {
      const auto all = all_distances(training, rows, row);
      for (std::size_t n = 0; n < static_cast<std::size_t>(one.k); ++n) {
        const std::size_t i = row * static_cast<std::size_t>(one.k) + n;
        ASSERT_EQ(found.rows[i], all[n].second) << one.training << " x " << one.columns << ", row " << row;
        ASSERT_NEAR(found.squared_distances[i], all[n].first, 1e-6 * all[n].first);
      }
    }
  }
}

TEST_P(Nearest, OfEquallyFarRowsTheFirstIsNearer) {
  RandomFeatures training = random_features({300, 12, 2, 1});
  for (std::size_t row = 100; row < 300; ++row) {  // each row three times
    std::copy_n(training.values.begin() + static_cast<long>(12 * (row % 100)), 12,
                training.values.begin() + static_cast<long>(12 * row));
  }
  const Neighbours found = find(training, training, 3);
  for (std::size_t row = 0; row < 300; ++row) {
    for (std::size_t n = 0; n < 3; ++n) {
      ASSERT_EQ(found.rows[3 * row + n], static_cast<std::int64_t>(row % 100 + 100 * n));
      ASSERT_EQ(found.squared_distances[3 * row + n], 0);
    }
  }
}

TEST(NearestVote, MostVotesWinAndOfEqualsTheNearest) {
  float votes[3];
  const auto winner = [&](std::vector<int> labels) {
    return vote(labels.data(), static_cast<int>(labels.size()), 3, votes);
  };
  EXPECT_EQ(winner({1, 2, 2}), 2);
  EXPECT_EQ(winner({1, 2, 2, 1}), 1);
  EXPECT_EQ(winner({0, 2, 1, 1, 2}), 2);
  EXPECT_EQ(votes[0], 1);
  EXPECT_EQ(votes[1], 2);
  EXPECT_EQ(votes[2], 2);
  EXPECT_EQ(winner({2}), 2);
}

TEST_P(Nearest, AClassifierKeepsItsRowsAndVotes) {
  RandomFeatures data = random_features({200, 6, 4, 3});
  std::unique_ptr<NearestClassifier> classifier;
  {
    const core::Buffer memory = uploaded(data.values.data(), data.values.size() * sizeof(float));
    classifier = fit_nearest(place(), data.on(memory.as<float>()), 5);
    stream_->fill(memory.data(), 0, memory.bytes());
  }
  const RandomFeatures others = random_features({90, 6, 4, 3, 0, 9});
  const core::Buffer memory = uploaded(others.values.data(), others.values.size() * sizeof(float));
  const Prediction made = classifier->predict(place(), others.on(memory.as<float>()).features);
  ASSERT_EQ(made.labels.size(), 90u);
  int right = 0;
  for (std::size_t row = 0; row < 90; ++row) {
    right += made.labels[row] == others.labels[row] ? 1 : 0;
    const float most = made.scores[4 * row + static_cast<std::size_t>(made.labels[row])];
    float sum = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_LE(made.scores[4 * row + k], most);
      EXPECT_EQ(made.probabilities[4 * row + k], made.scores[4 * row + k] / 5);
      sum += made.scores[4 * row + k];
    }
    EXPECT_EQ(sum, 5);
  }
  EXPECT_GT(right, 85);
}

TEST_P(Nearest, WhatCannotBeIsRefused) {
  RandomFeatures data = random_features({20, 3, 2, 1});
  const auto fit = [&](int k) {
    const core::Buffer memory = uploaded(data.values.data(), data.values.size() * sizeof(float));
    return fit_nearest(place(), data.on(memory.as<float>()), k);
  };
  EXPECT_THROW(fit(0), core::BadInput);
  EXPECT_THROW(fit(65), core::BadInput);
  EXPECT_EQ(fit(30)->k(), 20);
  EXPECT_EQ(fit(30)->summary().remarks.size(), 1u);
  data.values[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(fit(3), core::BadInput);
}

}  // namespace
}  // namespace warpscope::classifiers::nearest::nearest_test
