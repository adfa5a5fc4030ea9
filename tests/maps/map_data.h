#pragma once
// Features for tests of maps, and what tests ask of points in the plane.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gpu/maps/stepped_map.h"

namespace warpscope::maps::tests {

/// Rows in Gaussian clusters, row i in cluster i % clusters, whose centres are normal too, `distance` times as wide.
struct Clusters {
  std::int64_t rows = 0;
  int columns = 0;
  int clusters = 1;
  double distance = 10;
  std::uint64_t seed = 1;
};

inline std::vector<float> make_clusters(const Clusters& which) {
  std::vector<float> values(static_cast<std::size_t>(which.rows * which.columns));
  for (std::int64_t row = 0; row < which.rows; ++row) {
    for (int c = 0; c < which.columns; ++c) {
      const auto centre = static_cast<std::uint64_t>(row % which.clusters * which.columns + c);
      const auto at = static_cast<std::uint64_t>(row * which.columns + c);
      values[at] = static_cast<float>(which.distance * random_normal(which.seed + 1000, centre) +
                                      random_normal(which.seed, at));
    }
  }
  return values;
}

inline std::vector<int> labels_of(const Clusters& which) {
  std::vector<int> labels(static_cast<std::size_t>(which.rows));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int>(i) % which.clusters;
  return labels;
}

/// The mean part of the k nearest points of a point that have its label.
inline double purity(std::span<const float> points, std::span<const int> labels, int k) {
  const std::size_t rows = points.size() / 2;
  double sum = 0;
  std::vector<std::pair<double, std::size_t>> near(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      const double dx = static_cast<double>(points[2 * i]) - static_cast<double>(points[2 * j]);
      const double dy = static_cast<double>(points[2 * i + 1]) - static_cast<double>(points[2 * j + 1]);
      near[j] = {i == j ? 1e300 : dx * dx + dy * dy, j};
    }
    std::nth_element(near.begin(), near.begin() + k, near.end());
    for (int n = 0; n < k; ++n) {
      sum += labels[near[static_cast<std::size_t>(n)].second] == labels[i] ? 1 : 0;
    }
  }
  return sum / static_cast<double>(k) / static_cast<double>(rows);
}

}  // namespace warpscope::maps::tests
