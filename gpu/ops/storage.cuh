#pragma once
// The element types that kernels store: conversions to and from FP32, in which all of them compute, vectors
// for wide accesses, and the choice of the type from a call's precision.

#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/core/types.h"

namespace warpscope::ops {

template <class T>
__device__ __forceinline__ float to_float(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(value);
  } else {
    static_assert(std::is_same_v<T, float>);
    return value;
  }
}

/// Rounds to nearest even. What is too large for __half becomes an infinity; NaN stays NaN.
template <class T>
__device__ __forceinline__ T from_float(float value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    static_assert(std::is_same_v<T, float>);
    return value;
  }
}

/// N elements that are read or written as one. N * sizeof(T) is 2, 4, 8 or 16 bytes, and the address a
/// multiple of it.
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  T at[N];
};

/// Elements of T in an access of 16 bytes, the widest there is.
template <class T>
inline constexpr int kWide = static_cast<int>(16 / sizeof(T));

/// Whether a 16-byte access at each of these addresses is allowed.
template <class... Pointers>
bool aligned_16(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Calls f(T{}) with the type in which activations and working weights are stored in `precision`.
template <class F>
void with_storage(core::Precision precision, F f) {
  switch (precision) {
    case core::Precision::fp32:
    case core::Precision::tf32:
      return f(float{});
    case core::Precision::fp16:
      return f(__half{});
    case core::Precision::bf16:
      return f(__nv_bfloat16{});
    case core::Precision::fp64:
      break;
  }
  throw std::logic_error("no CUDA kernel stores fp64");
}

}  // namespace warpscope::ops
