#pragma once
// The formulas of gelu.h in FP32, for `loops` and the kernels. `reference` has its own in double.

#include <cmath>

namespace warpscope::ops::gelu {

#ifdef __CUDACC__
#define WARPSCOPE_BOTH __host__ __device__
#else
#define WARPSCOPE_BOTH
#endif

inline constexpr float kRootOfHalf = 0.70710678118654752f;      ///< 1 / sqrt(2)
inline constexpr float kHighestDensity = 0.39894228040143268f;  ///< phi(0) = 1 / sqrt(2 pi)

/// x Phi(x)
WARPSCOPE_BOTH inline float value_at(float x) {
  return 0.5f * x * (1.0f + erff(x * kRootOfHalf));
}

/// Phi(x) + x phi(x), the derivative of x Phi(x)
WARPSCOPE_BOTH inline float slope_at(float x) {
  const float below = 0.5f * (1.0f + erff(x * kRootOfHalf));
  return below + x * kHighestDensity * expf(-0.5f * x * x);
}

#undef WARPSCOPE_BOTH

}  // namespace warpscope::ops::gelu
