#pragma once
// How numbers are sorted into bins by the bits of their FP32 form: by sign and half octave of the magnitude, and
// by what FP16 and BF16 would make of them. No range has to be known before, and counts are exact. One set of
// inline functions for the CPU and for the CUDA kernel.
//
// Half octave h of a magnitude holds, with e = kLeastExponent + floor(h / 2),
//
//   h even: [2^e, 1.5 2^e)      h odd: [1.5 2^e, 2^(e+1))
//
// The first also holds all smaller magnitudes but 0, the last all larger ones. What 16 bits make of a number
// follows from rounding to nearest, ties to even, as IEEE 754 has it:
//
//   FP16: infinite from 65520, 0 up to 2^-25, subnormal from there to below 2^-14 - 2^-25
//   BF16: infinite from (2 - 2^-8) 2^127, 0 up to 2^-134, subnormal from there to below 2^-126 - 2^-134

#include <cstdint>

namespace warpscope::statistics {

#if defined(__CUDACC__)
#define WARPSCOPE_STATISTICS_BOTH __host__ __device__
#else
#define WARPSCOPE_STATISTICS_BOTH
#endif

inline constexpr int kHalfOctaves = 128;
inline constexpr int kLeastExponent = -40;  ///< of the first half octave

/// What is counted, side by side. Each number is in one of the bins up to kNans, and those that a 16-bit format
/// cannot hold as a normal number are in one of that format's as well.
enum Counter : int {
  kPositive = 0,                         ///< kHalfOctaves of them
  kNegative = kPositive + kHalfOctaves,  ///< the same
  kZeros = kNegative + kHalfOctaves,     ///< 0 and -0
  kInfinities,
  kNans,
  kFp16Overflows,   ///< finite, infinite in FP16
  kFp16Zeros,       ///< not 0, but 0 in FP16
  kFp16Subnormals,  ///< subnormal in FP16: stored with fewer digits
  kBf16Overflows,
  kBf16Zeros,
  kBf16Subnormals,
  kCounters
};

namespace detail {

inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;

/// What a 16-bit format makes of a magnitude: 0: a normal number; 1, 2, 3: an infinity, 0, a subnormal number.
/// `overflow`, `zero`, `normal`: the bits of the least magnitude that becomes infinite, of the largest that becomes
/// 0, and of the least that becomes a normal number.
WARPSCOPE_STATISTICS_BOTH inline int loss_of(std::uint32_t magnitude, std::uint32_t overflow,
                                             std::uint32_t zero, std::uint32_t normal) {
  if (magnitude >= overflow) return 1;
  if (magnitude <= zero) return 2;
  return magnitude < normal ? 3 : 0;
}

}  // namespace detail

/// The bin of a number with these bits: a counter up to kNans.
WARPSCOPE_STATISTICS_BOTH inline int bin_of(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude == 0) return kZeros;
  if (magnitude >= detail::kInfinityBits) return magnitude == detail::kInfinityBits ? kInfinities : kNans;
  // Exponent and first digit of the mantissa, side by side: one more a half octave.
  const int half = static_cast<int>(magnitude >> 22) - 2 * (127 + kLeastExponent);
  const int clamped = half < 0 ? 0 : half >= kHalfOctaves ? kHalfOctaves - 1 : half;
  return (bits == magnitude ? kPositive : kNegative) + clamped;
}

/// True of numbers that are in one of the half octaves: neither 0 nor an infinity nor a NaN.
WARPSCOPE_STATISTICS_BOTH inline bool has_half_octave(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  return magnitude != 0 && magnitude < detail::kInfinityBits;
}

/// What FP16 and BF16 lose of a number that has a half octave: a counter, or -1 if nothing.
WARPSCOPE_STATISTICS_BOTH inline int fp16_loss(std::uint32_t bits) {
  const int loss = detail::loss_of(bits & 0x7fffffffu, 0x477ff000u, 0x33000000u, 0x387fe000u);
  return loss == 0 ? -1 : kFp16Overflows + loss - 1;
}
WARPSCOPE_STATISTICS_BOTH inline int bf16_loss(std::uint32_t bits) {
  const int loss = detail::loss_of(bits & 0x7fffffffu, 0x7f7f8000u, 0x00008000u, 0x007f8000u);
  return loss == 0 ? -1 : kBf16Overflows + loss - 1;
}

}  // namespace warpscope::statistics
