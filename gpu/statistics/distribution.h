#pragma once
// What is known of many numbers without keeping them: their histogram, sums and range, and what follows from these.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "gpu/statistics/count_values.h"
#include "gpu/statistics/value_bins.h"

namespace warpscope::statistics {

/// How some numbers are spread, as count_values() has counted them.
struct Distribution {
  std::array<std::uint32_t, kCounters> counters{};
  // The finite ones have:
  double sum = 0;
  double squares = 0;
  float least = 0;  ///< 0 if there are none
  float most = 0;

  std::uint64_t finite() const;    ///< how many are neither infinite nor NaN
  std::uint64_t elements() const;  ///< all
  double mean() const;             ///< sum / finite; 0 of nothing
  /// Root of the mean squared distance from the mean.
  double deviation() const;
  /// L2: sqrt(sum of squares).
  double norm() const;
  /// The part of all numbers that `counter` has counted; 0 of nothing.
  double share(Counter counter) const;
};

/// From what count_values() has left: the counters of one result, and the sums of the chunks of its tensors, added
/// in the order of the chunks.
Distribution distribution_of(std::span<const std::uint32_t> counters, std::uint32_t result,
                             std::span<const CountedTensor> tensors, std::span<const ChunkSums> sums);

/// The ends of half octave `half` (of magnitudes): [low, high). The first begins at 0; the last is as wide as it
/// would be if another followed, though it holds all larger magnitudes.
struct HalfOctave {
  double low = 0;
  double high = 0;
};
HalfOctave half_octave(int half);

/// An estimate of the quantile `part` (from 0 to 1) of the finite numbers, which is the number at place
/// floor(part (n - 1)) of all n in ascending order, from 0: interpolated within its bin as if the bin's numbers
/// were evenly spread. Estimate and quantile are in the same bin and within the range of the numbers, so that they
/// differ by at most half of the quantile's magnitude; below 2^kLeastExponent by less than 1.5 times that; in the
/// last bin by no more than the range of the numbers goes beyond its beginning. Zeros are exact. Nothing if there
/// are no finite numbers.
std::optional<double> quantile(const Distribution& distribution, double part);

}  // namespace warpscope::statistics
