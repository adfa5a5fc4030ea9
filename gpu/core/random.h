#pragma once
// Random numbers that are the same on every machine and for any number of threads: counter-based, so that the
// n-th number of a stream depends only on the seed and n, or drawn one after the other.

#include <cstdint>

namespace warpscope::core {

/// 2^64 over the golden ratio, made odd: SplitMix64's step from state to state.
/// Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators" (2014).
inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ull;

/// A number of which each bit depends on each bit of `x`: SplitMix64's output function, with the constants of
/// D. Stafford's variant 13.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// The generator, for numbers that are drawn one after the other.
class SplitMix64 {
 public:
  constexpr explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() { return mix_bits(state_ += kGoldenGamma); }

 private:
  std::uint64_t state_;
};

/// A well-mixed 64-bit hash of (seed, counter): SplitMix64's output function applied to the stream's n-th
/// state.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  return mix_bits(mix_bits(seed + kGoldenGamma) + (counter + 1) * kGoldenGamma);
}

/// Uniform in (0, 1), 53 bits, never 0 or 1.
constexpr double random_unit(std::uint64_t seed, std::uint64_t counter) {
  return (static_cast<double>(random_bits(seed, counter) >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace warpscope::core
