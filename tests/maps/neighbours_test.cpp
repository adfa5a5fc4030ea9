// The nearest rows, their affinities and the graph of them, against plain double-precision formulas.

#include "gpu/maps/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/maps/affinities.h"
#include "gpu/maps/graph.h"
#include "tests/maps/map_data.h"
#include "tests/support/device_case.h"

namespace warpscope::maps::neighbours_test {
namespace {

class NearestRows : public warpscope::tests::DeviceCase {
 protected:
  Neighbours find(const std::vector<float>& values, std::int64_t rows, int columns, int count,
                  std::size_t memory = std::size_t{512} << 20) {
    const core::Buffer features = uploaded(values.data(), values.size() * sizeof(float));
    return nearest_rows({device_, stream_.get()}, {features.as<float>(), rows, columns}, count, {}, memory);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, NearestRows, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param; });

std::vector<double> exact_distances(const std::vector<float>& values, std::int64_t rows, int columns) {
  std::vector<double> all(static_cast<std::size_t>(rows * rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      double sum = 0;
      for (int c = 0; c < columns; ++c) {
        const double difference = static_cast<double>(values[static_cast<std::size_t>(i * columns + c)]) -
                                  static_cast<double>(values[static_cast<std::size_t>(j * columns + c)]);
        sum += difference * difference;
      }
      all[static_cast<std::size_t>(i * rows + j)] = sum;
    }
  }
  return all;
}

/// Each row's neighbours are as near as the nearest can be, sorted, none twice, never the row itself.
void expect_nearest(const Neighbours& found, const std::vector<double>& exact, int columns) {
  const double tolerance = columns * 0x1.0p-24;
  for (std::int64_t i = 0; i < found.rows; ++i) {
    std::vector<double> sorted(exact.begin() + i * found.rows, exact.begin() + (i + 1) * found.rows);
    sorted.erase(sorted.begin() + i);
    std::sort(sorted.begin(), sorted.end());
    std::vector<bool> seen(static_cast<std::size_t>(found.rows));
    for (int k = 0; k < found.count; ++k) {
      const auto at = static_cast<std::size_t>(i * found.count + k);
      const int j = found.indices[at];
      ASSERT_TRUE(j >= 0 && j < found.rows && j != i && !seen[static_cast<std::size_t>(j)]) << i << " " << k;
      seen[static_cast<std::size_t>(j)] = true;
      const double wanted = sorted[static_cast<std::size_t>(k)];
      ASSERT_NEAR(found.squared_distances[at], exact[static_cast<std::size_t>(i * found.rows + j)],
                  tolerance * wanted);
      ASSERT_NEAR(found.squared_distances[at], wanted, tolerance * wanted) << i << " " << k;
      if (k == 0) continue;
      const float before = found.squared_distances[at - 1];
      ASSERT_TRUE(before < found.squared_distances[at] ||
                  (before == found.squared_distances[at] && found.indices[at - 1] < j));
    }
  }
}

TEST_P(NearestRows, AreThoseOfExactDistancesForOddShapes) {
  for (const auto& [rows, columns, count] :
       {std::tuple{2, 1, 1}, std::tuple{37, 3, 36}, std::tuple{129, 17, 5}, std::tuple{300, 131, 91},
        std::tuple{513, 16, 300}}) {
    const std::vector<float> values =
        tests::make_clusters({rows, columns, 4, 3.0, static_cast<std::uint64_t>(rows)});
    expect_nearest(find(values, rows, columns, count), exact_distances(values, rows, columns), columns);
  }
}

TEST_P(NearestRows, AreTheSameWhereDistancesAreHeldForFewRowsAtATime) {
  const std::vector<float> values = tests::make_clusters({700, 20, 3});
  const Neighbours all = find(values, 700, 20, 30);
  const Neighbours pieces = find(values, 700, 20, 30, 1);
  EXPECT_EQ(all.indices, pieces.indices);
  EXPECT_EQ(all.squared_distances, pieces.squared_distances);
}

TEST_P(NearestRows, OfDuplicatesFarFromTheOriginAreAtADistanceOfZeroInTheOrderOfTheirIndices) {
  const int rows = 400, columns = 24;
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // 40 different rows, ten times each.
    const auto at = static_cast<std::uint64_t>(i % (40 * columns));
    values[i] = 1e6f + static_cast<float>(random_normal(3, at));
  }
  const Neighbours found = find(values, rows, columns, 12);
  for (int i = 0; i < rows; ++i) {
    int other = i % 40;
    for (int k = 0; k < 9; ++k, other += 40) {
      if (other == i) other += 40;
      ASSERT_EQ(found.indices[static_cast<std::size_t>(i * 12 + k)], other) << i << " " << k;
      ASSERT_EQ(found.squared_distances[static_cast<std::size_t>(i * 12 + k)], 0.0f);
    }
    ASSERT_GT(found.squared_distances[static_cast<std::size_t>(i * 12 + 9)], 0.0f);
  }
}

TEST_P(NearestRows, BeyondFp32AreRefusedByTheirRow) {
  std::vector<float> values(40, 1.0f);
  values[2 * 10 + 3] = 1e30f;
  try {
    find(values, 4, 10, 2);
    FAIL();
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("row 2 "), std::string::npos) << error.what();
  }
}

Neighbours random_neighbours(std::int64_t rows, int columns, int count, std::uint64_t seed) {
  const std::vector<float> values = tests::make_clusters({rows, columns, 3, 4.0, seed});
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  return nearest_rows({device, stream.get()}, {values.data(), rows, columns}, count);
}

TEST(ConditionalProbabilities, OfEachRowHaveThePerplexityAskedFor) {
  for (const double perplexity : {1.5, 7.25, 30.0, 88.0}) {
    const Neighbours neighbours = random_neighbours(233, 9, 90, 5);
    const RowWeights made = conditional_probabilities(neighbours, perplexity);
    EXPECT_EQ(made.missed, 0);
    for (std::size_t i = 0; i < 233; ++i) {
      double sum = 0, entropy = 0;
      for (std::size_t k = 0; k < 90; ++k) {
        const auto p = static_cast<double>(made.weights[i * 90 + k]);
        sum += p;
        if (p > 0) entropy -= p * std::log(p);
        if (k == 0) continue;
        ASSERT_LE(made.weights[i * 90 + k], made.weights[i * 90 + k - 1]);
      }
      ASSERT_NEAR(sum, 1, 1e-5);
      ASSERT_NEAR(std::exp(entropy), perplexity, 1e-4 * perplexity) << i;
    }
  }
}

TEST(ConditionalProbabilities, DoNotDependOnTheScaleOfTheFeatures) {
  Neighbours neighbours = random_neighbours(100, 5, 60, 6);
  const std::vector<float> before = conditional_probabilities(neighbours, 20).weights;
  for (float& d : neighbours.squared_distances) d *= 0x1.0p+60f;
  const std::vector<float> after = conditional_probabilities(neighbours, 20).weights;
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-5f);
}

TEST(ConditionalProbabilities, OfRowsWithTooManyDuplicatesAreEqualPartsAndAreCounted) {
  Neighbours neighbours;
  neighbours.rows = 2;
  neighbours.count = 4;
  neighbours.indices = {1, 1, 1, 1, 0, 0, 0, 0};  // not looked at
  neighbours.squared_distances = {0, 0, 0, 5, 7, 7, 7, 7};
  const RowWeights made = conditional_probabilities(neighbours, 2);
  EXPECT_EQ(made.missed, 2);
  const float third = 1.0f / 3;
  EXPECT_EQ(made.weights, (std::vector<float>{third, third, third, 0, 0.25f, 0.25f, 0.25f, 0.25f}));
}

TEST(Memberships, OfARowSumUpToTheLogarithmOfItsNeighbours) {
  const Neighbours neighbours = random_neighbours(150, 6, 14, 7);
  const RowWeights made = memberships(neighbours);
  EXPECT_EQ(made.missed, 0);
  for (std::size_t i = 0; i < 150; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < 14; ++k) sum += static_cast<double>(made.weights[i * 14 + k]);
    ASSERT_NEAR(sum, std::log2(15.0), 1e-4);
    ASSERT_EQ(made.weights[i * 14], 1.0f) << "the nearest has distance rho";
    // They have the form exp(-(d - rho) / sigma): logarithms are proportional to d - rho.
    const auto distance = [&](std::size_t k) {
      return std::sqrt(static_cast<double>(neighbours.squared_distances[i * 14 + k]));
    };
    const double sigma =
        -(distance(13) - distance(0)) / std::log(static_cast<double>(made.weights[i * 14 + 13]));
    for (std::size_t k = 1; k < 13; ++k) {
      ASSERT_NEAR(std::log(static_cast<double>(made.weights[i * 14 + k])),
                  -(distance(k) - distance(0)) / sigma, 1e-4);
    }
  }
}

TEST(Memberships, OfDuplicatesAreOneAndTooManyOfThemAreCounted) {
  Neighbours neighbours;
  neighbours.rows = 3;
  neighbours.count = 4;
  neighbours.indices.resize(12);
  neighbours.squared_distances = {0, 0, 0, 0,   // nothing but duplicates
                                  0, 1, 4, 9,   // rho skips the duplicate
                                  1, 1, 1, 4};  // three at rho
  const RowWeights made = memberships(neighbours);
  EXPECT_EQ(made.missed, 2);
  for (const std::size_t one : {0, 1, 2, 3, 4, 5, 8, 9, 10}) EXPECT_EQ(made.weights[one], 1.0f) << one;
  EXPECT_NEAR(made.weights[6] + made.weights[7], std::log2(5.0) - 2, 1e-4);
  for (const float weight : made.weights) EXPECT_TRUE(weight >= 0 && weight <= 1);
}

TEST(SymmetricGraph, HoldsEveryPairOnceInEachRowWithBothWeights) {
  const Neighbours neighbours = random_neighbours(301, 4, 11, 8);
  std::vector<float> weights(neighbours.indices.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(core::random_unit(4, i));
  const auto combine = [](double a, double b) { return a + b - a * b; };
  const Graph graph = symmetric_graph(neighbours, weights, combine);

  std::map<std::pair<int, int>, double> out;
  for (int i = 0; i < 301; ++i) {
    for (int k = 0; k < 11; ++k) {
      const auto at = static_cast<std::size_t>(i * 11 + k);
      out[{i, neighbours.indices[at]}] = static_cast<double>(weights[at]);
    }
  }
  std::map<std::pair<int, int>, double> wanted;
  for (const auto& [pair, weight] : out) {
    const auto back = out.find({pair.second, pair.first});
    const double both = combine(weight, back == out.end() ? 0 : back->second);
    wanted[pair] = wanted[{pair.second, pair.first}] = both;
  }
  ASSERT_EQ(graph.columns.size(), wanted.size());
  auto next = wanted.begin();
  for (int i = 0; i < 301; ++i) {
    for (int e = graph.starts[static_cast<std::size_t>(i)]; e < graph.starts[static_cast<std::size_t>(i) + 1];
         ++e, ++next) {
      ASSERT_EQ(next->first, std::pair(i, graph.columns[static_cast<std::size_t>(e)]));
      ASSERT_EQ(graph.weights[static_cast<std::size_t>(e)], static_cast<float>(next->second));
    }
  }
}

}  // namespace
}  // namespace warpscope::maps::neighbours_test
