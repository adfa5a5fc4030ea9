#pragma once
// bfloat16 on the CPU: the upper half of an FP32 number. It is a type to store; arithmetic is FP32.
// Source: Intel, "BFLOAT16 - Hardware Numerics Definition" (2018).

#include <bit>
#include <cstdint>

namespace warpscope::ops {

struct BFloat16 {
  std::uint16_t bits;
};

inline float to_float(float value) {
  return value;
}

/// Exact.
inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// The nearest T, ties to even; too large becomes an infinity; NaN stays NaN, made quiet.
template <class T>
T from_float(float value);

template <>
inline float from_float<float>(float value) {
  return value;
}

// Without branches, so that loops over it become vector code. A NaN must not go through the rounding: that
// could carry its last bits into the exponent and beyond.
template <>
inline BFloat16 from_float<BFloat16>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded)};
}

}  // namespace warpscope::ops
