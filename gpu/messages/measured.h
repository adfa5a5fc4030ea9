#pragma once
// Whether two medians can be compared, and whether they differ by more than their noise.

#include <cmath>
#include <cstdint>

namespace warpscope::training {

/// A median of measurements that were made alike.
struct Measured {
  double median = 0;
  double spread = 0;  ///< from the first quartile to the third
  std::uint64_t samples = 0;
};

enum class Difference : std::uint8_t {
  unknown,  ///< one of them has too few samples
  noise,    ///< the two cannot be told apart
  less,     ///< the second is smaller
  more      ///< the second is larger
};

/// Fewer samples tell a median badly.
inline constexpr std::uint64_t kEnoughSamples = 9;

/// For `now` to `before`: it is there where the middle halves of the samples do not overlap and the medians are more
/// than 2 % apart, by which those of the same work differ from one minute to the next.
inline Difference difference(const Measured& before, const Measured& now) {
  constexpr double kLeast = 0.02;
  if (before.samples < kEnoughSamples || now.samples < kEnoughSamples || !(before.median > 0) ||
      !(now.median > 0)) {
    return Difference::unknown;
  }
  const double distance = std::abs(now.median - before.median);
  if (distance <= (before.spread + now.spread) / 2 || distance <= kLeast * before.median)
    return Difference::noise;
  return now.median < before.median ? Difference::less : Difference::more;
}

}  // namespace warpscope::training
