#pragma once
// The steps of sequential minimal optimization, the same inline functions for the CUDA kernels and for tests that run
// them on the CPU.
//
// With v_t = y_t G_t = sum_s y_s alpha_s K_ts - y_t (G: the gradient of the dual) the signs y leave the formulas:
// a step that adds `step` >= 0 to y_i alpha_i and takes it from y_j alpha_j changes v_t by step (K_ti - K_tj). i
// must be able to rise (I_up in LIBSVM), j to fall (I_low). i has the
// largest -v, j the largest (v_j - v_i)^2 / (K_ii + K_jj - 2 K_ij) of those with v_j > v_i.
//
// Only differences of K matter, in v too, because sum_s y_s alpha_s = 0. So where all K are near 1 (a small gamma), K
// - 1 stands for K, computed without cancellation, and nothing of what tells the rows apart is rounded away.
//
// Source: R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information for training SVM"
// (2005), algorithm 2; LIBSVM 3 for the clipping.

#include <cmath>
#include <cstdint>
#include <cstring>

namespace warpscope::classifiers::rbf {

#if defined(__CUDACC__)
#define WARPSCOPE_SMO_BOTH __host__ __device__ __forceinline__
#else
#define WARPSCOPE_SMO_BOTH inline
#endif

/// Stands for K_ii + K_jj - 2 K_ij where that is not positive.
inline constexpr float kLeastCurvature = 1e-12f;

/// How K follows from a squared distance: exp2(distance * factor), minus 1 where `shifted`. Both factors are negative
/// and in units of the distances as they are stored.
struct KernelFactors {
  float binary = 0;   ///< -gamma log2(e)
  float natural = 0;  ///< -gamma
};

/// K or, where kShifted, K - 1. Relative error of either below 4e-7 where |exponent| < 16.
template <bool kShifted>
WARPSCOPE_SMO_BOTH float kernel_value(float distance, KernelFactors factors) {
  const float power = distance * factors.binary;
#if defined(__CUDA_ARCH__)
  float value;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(power));
#else
  const float value = std::exp2(power);
#endif
  if constexpr (!kShifted) return value;
  const float x = distance * factors.natural;
  // Taylor's series of exp(x) - 1; below -1/4 the subtraction loses at most two bits.
  float series = 1.0f / 40320.0f;
  series = series * x + 1.0f / 5040.0f;
  series = series * x + 1.0f / 720.0f;
  series = series * x + 1.0f / 120.0f;
  series = series * x + 1.0f / 24.0f;
  series = series * x + 1.0f / 6.0f;
  series = series * x + 0.5f;
  series = series * x + 1.0f;
  return x > -0.5f ? series * x : value - 1.0f;
}

/// K_ii + K_jj - 2 K_ij from what kernel_value() made of the pair.
template <bool kShifted>
WARPSCOPE_SMO_BOTH float curvature(float kernel) {
  const float sum = kShifted ? -2.0f * kernel : 2.0f - 2.0f * kernel;
  return sum > kLeastCurvature ? sum : kLeastCurvature;
}

/// What the dual falls by, times two: the larger, the better the choice. 0 where the pair does not violate the
/// conditions. `difference` is v_j - v_i.
template <bool kShifted>
WARPSCOPE_SMO_BOTH float gain(float difference, float kernel) {
  if (!(difference > 0.0f)) return 0.0f;
#if defined(__CUDA_ARCH__)
  return __fdividef(difference * difference, curvature<kShifted>(kernel));
#else
  return difference * difference / curvature<kShifted>(kernel);
#endif
}

WARPSCOPE_SMO_BOTH bool can_rise(bool positive, double alpha, double bound) {
  return positive ? alpha < bound : alpha > 0.0;
}
WARPSCOPE_SMO_BOTH bool can_fall(bool positive, double alpha, double bound) {
  return positive ? alpha > 0.0 : alpha < bound;
}

/// One of the two alphas of a step.
struct Variable {
  double alpha;
  double bound;  ///< its upper bound; the lower is 0
  bool positive;
};

/// Moves both by `wish`, or by as much as their bounds allow, and returns by how much y_i alpha_i has grown. An alpha
/// that reaches a bound is that bound exactly.
WARPSCOPE_SMO_BOTH double take_step(Variable& i, Variable& j, double wish) {
  const double room_i = i.positive ? i.bound - i.alpha : i.alpha;
  const double room_j = j.positive ? j.alpha : j.bound - j.alpha;
  double step = wish;
  if (room_i < step) step = room_i;
  if (room_j < step) step = room_j;
  i.alpha = i.positive ? i.alpha + step : i.alpha - step;
  j.alpha = j.positive ? j.alpha - step : j.alpha + step;
  if (step == room_i) i.alpha = i.positive ? i.bound : 0.0;
  if (step == room_j) j.alpha = j.positive ? 0.0 : j.bound;
  return step;
}

/// Numbers in the order of unsigned integers, so that the largest is found among integers. Not of NaN.
WARPSCOPE_SMO_BOTH std::uint32_t order_key(float value) {
  std::uint32_t bits;
#if defined(__CUDA_ARCH__)
  bits = __float_as_uint(value);
#else
  std::memcpy(&bits, &value, sizeof bits);
#endif
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
WARPSCOPE_SMO_BOTH float from_order_key(std::uint32_t key) {
  const std::uint32_t bits = (key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key;
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

/// Stands for -infinity among the keys: below the key of every number.
inline constexpr std::uint32_t kNoKey = 0;

}  // namespace warpscope::classifiers::rbf
