#pragma once
// Rows of features for programs that measure classifiers: from files of NumPy, or made.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/core/random.h"
#include "gpu/features/npy.h"

namespace warpscope::tests {

struct FeatureRows {
  std::vector<float> values;
  std::vector<int> labels;
  std::int64_t rows = 0;
  int columns = 0;
};

/// Features of <f4 (rows, columns) and, unless `labels` is "", labels of <i4, one a row. Throws core::BadInput.
inline FeatureRows read_feature_rows(const std::string& values, const std::string& labels) {
  const features::NpyArray x = features::read_npy(values, "<f4");
  if (x.shape.size() != 2) throw core::BadInput(values + ": features have two dimensions");
  FeatureRows made;
  made.rows = x.shape[0];
  made.columns = static_cast<int>(x.shape[1]);
  made.values.resize(x.bytes.size() / sizeof(float));
  std::memcpy(made.values.data(), x.bytes.data(), x.bytes.size());
  if (labels.empty()) return made;
  const features::NpyArray y = features::read_npy(labels, "<i4");
  made.labels.resize(static_cast<std::size_t>(made.rows));
  if (y.bytes.size() != made.labels.size() * sizeof(int))
    throw core::BadInput(labels + ": there is not a label for each row");
  std::memcpy(made.labels.data(), y.bytes.data(), y.bytes.size());
  return made;
}

/// A number that is nearly normal: the sum of four uniform ones.
inline float nearly_normal(std::uint64_t seed, std::uint64_t at) {
  const std::uint64_t bits = core::random_bits(seed, at);
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += static_cast<float>(bits >> (16 * k) & 0xffffu) / 65536.0f;
  return (sum - 2.0f) * 1.7320508f;
}

/// Rectified mixtures of `kFactors` factors of which the n-th has variance 1/n, as activations have it, with noise;
/// a row's factors are normal about the centre of its class. The same `world` has the same centres and mixtures.
inline FeatureRows make_feature_rows(std::int64_t rows, int columns, int classes, double apart,
                                     std::uint64_t world, std::uint64_t seed) {
  constexpr int kFactors = 64;
  FeatureRows made{std::vector<float>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)),
                   std::vector<int>(static_cast<std::size_t>(rows)), rows, columns};
  std::vector<float> mixture(static_cast<std::size_t>(columns) * kFactors);
  for (std::size_t i = 0; i < mixture.size(); ++i) {
    mixture[i] = nearly_normal(world, i) / std::sqrt(static_cast<float>(i % kFactors + 1));
  }
  core::parallel_for(rows, 64, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto r = static_cast<std::uint64_t>(row);
      const int label = static_cast<int>(core::random_bits(seed, r) % static_cast<std::uint64_t>(classes));
      made.labels[r] = label;
      float factors[kFactors];
      for (std::uint64_t k = 0; k < kFactors; ++k) {
        factors[k] = static_cast<float>(apart) *
                         nearly_normal(world + 1, static_cast<std::uint64_t>(label) * kFactors + k) +
                     nearly_normal(seed + 1, r * kFactors + k);
      }
      for (int j = 0; j < columns; ++j) {
        const float* const of_column = mixture.data() + static_cast<std::size_t>(j) * kFactors;
        const std::uint64_t at = r * static_cast<std::uint64_t>(columns) + static_cast<std::uint64_t>(j);
        float value = 1.2f * nearly_normal(seed + 2, at);
        for (int k = 0; k < kFactors; ++k) value += factors[k] * of_column[k];
        made.values[at] = value > 0 ? value : 0;
      }
    }
  });
  return made;
}

}  // namespace warpscope::tests
