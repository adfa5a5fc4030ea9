#pragma once
// Features for tests of classifiers: normal numbers around a centre of each class, the same for the same seed.

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/core/random.h"

namespace warpscope::tests {

struct FeatureShape {
  int rows = 100;
  int columns = 10;
  int classes = 3;
  double apart = 1;         ///< deviation of the classes' centres; that of rows about them is 1
  double decay = 0;         ///< column j is multiplied by (j + 1)^-decay
  std::uint64_t seed = 1;   ///< of the rows
  std::uint64_t world = 1;  ///< of the classes' centres
};

struct RandomFeatures {
  std::vector<float> values;
  std::vector<int> labels;
  int rows = 0, columns = 0, classes = 0;

  classifiers::LabelledFeatures on(const float* memory) const {
    return {{memory, rows, columns}, labels, classes};
  }
  classifiers::LabelledFeatures on_host() const { return on(values.data()); }
};

inline double random_normal(std::uint64_t seed, std::uint64_t counter) {
  constexpr double kTau = 6.283185307179586;
  return std::sqrt(-2 * std::log(core::random_unit(seed, 2 * counter))) *
         std::cos(kTau * core::random_unit(seed, 2 * counter + 1));
}

/// Row i is of class i mod classes, in an order that the seed shuffles.
inline RandomFeatures random_features(const FeatureShape& shape) {
  RandomFeatures made;
  made.rows = shape.rows;
  made.columns = shape.columns;
  made.classes = shape.classes;
  std::uint64_t counter = 0;
  for (int row = 0; row < shape.rows; ++row) {
    const int label = static_cast<int>(core::random_bits(shape.seed + 1, static_cast<std::uint64_t>(row)) %
                                       static_cast<std::uint64_t>(shape.classes));
    made.labels.push_back(row < shape.classes ? row : label);
    for (int j = 0; j < shape.columns; ++j) {
      const auto centre = static_cast<std::uint64_t>(made.labels.back() * shape.columns + j);
      const double value =
          shape.apart * random_normal(shape.world + 2, centre) + random_normal(shape.seed + 100, counter++);
      made.values.push_back(static_cast<float>(value * std::pow(j + 1, -shape.decay)));
    }
  }
  return made;
}

}  // namespace warpscope::tests
