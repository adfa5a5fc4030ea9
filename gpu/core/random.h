#pragma once
// Counter-based random numbers: the n-th number of a stream depends on the seed and n alone, so results are
// the same on every machine and thread count.

#include <cstdint>

namespace warpscope::core {

/// A well-mixed 64-bit hash of (seed, counter): SplitMix64's output function applied to the stream's n-th
/// state. Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators" (2014).
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  };
  return mix(mix(seed + 0x9E3779B97F4A7C15ull) + (counter + 1) * 0x9E3779B97F4A7C15ull);
}

/// Uniform in (0, 1), 53 bits, never 0 or 1.
constexpr double random_unit(std::uint64_t seed, std::uint64_t counter) {
  return (static_cast<double>(random_bits(seed, counter) >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace warpscope::core
