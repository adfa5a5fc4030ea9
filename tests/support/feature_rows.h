#pragma once
// Rows of features for programs that measure classifiers: from files of NumPy, or made.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/core/random.h"

namespace warpscope::tests {

struct FeatureRows {
  std::vector<float> values;
  std::vector<int> labels;
  std::int64_t rows = 0;
  int columns = 0;
};

/// An array as numpy.save() writes it, version 1, in C order.
struct NumpyArray {
  std::string type;
  std::vector<std::int64_t> shape;
  std::vector<char> bytes;
};

inline NumpyArray read_numpy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char start[10] = {};
  if (!file.read(start, sizeof start) || std::memcmp(start, "\x93NUMPY\x01", 7) != 0) {
    throw core::BadInput(path + " is no .npy file of version 1");
  }
  std::string header(static_cast<unsigned char>(start[8]) + 256u * static_cast<unsigned char>(start[9]), ' ');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (header.find("'fortran_order': False") == std::string::npos)
    throw core::BadInput(path + " is not in C order");
  NumpyArray array;
  const std::size_t type = header.find("'descr': '") + 10;
  array.type = header.substr(type, header.find('\'', type) - type);
  for (std::size_t at = header.find("'shape': (") + 10; header[at] != ')';) {
    char* end = nullptr;
    array.shape.push_back(std::strtoll(header.c_str() + at, &end, 10));
    at = static_cast<std::size_t>(end - header.c_str());
    while (header[at] == ',' || header[at] == ' ') ++at;
  }
  array.bytes.assign(std::istreambuf_iterator<char>(file), {});
  return array;
}

/// Features of <f4 (rows, columns) and labels of <i4, <i8 or |u1.
inline FeatureRows read_feature_rows(const std::string& features, const std::string& labels) {
  const NumpyArray x = read_numpy(features), y = read_numpy(labels);
  if (x.type != "<f4" || x.shape.size() != 2)
    throw core::BadInput(features + " is not <f4 of two dimensions");
  FeatureRows made;
  made.rows = x.shape[0];
  made.columns = static_cast<int>(x.shape[1]);
  made.values.resize(x.bytes.size() / sizeof(float));
  std::memcpy(made.values.data(), x.bytes.data(), made.values.size() * sizeof(float));
  const std::size_t width = y.type == "|u1" ? 1 : y.type == "<i4" ? 4 : 8;
  for (std::int64_t row = 0; row < made.rows; ++row) {
    std::int64_t value = 0;
    std::memcpy(&value, y.bytes.data() + static_cast<std::size_t>(row) * width, width);
    made.labels.push_back(static_cast<int>(value));
  }
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
