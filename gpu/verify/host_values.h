#pragma once
// The distance of values on the host.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gpu/ops/host_values.h"

namespace warpscope::verify {

using ops::Bytes;
using ops::decode;
using ops::encode;
using ops::Operands;

/// The bytes of numbers as they lie in memory.
template <class Values>
Bytes bytes_of(const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// 0 to `count` - 1, shuffled, in 32 bits each.
template <class Random>
Bytes random_order(std::size_t count, Random&& random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  return bytes_of(order);
}

/// ||out - expected|| / max(||expected||, least_norm) in the Euclidean norm: 0 if both are zero or empty,
/// infinity if any value of `out` is NaN or infinite or if the divisor is zero and `out` is not.
double relative_error(std::span<const double> out, std::span<const double> expected, double least_norm = 0);

}  // namespace warpscope::verify
