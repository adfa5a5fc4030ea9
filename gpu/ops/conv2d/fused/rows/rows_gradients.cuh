#pragma once
// What mma_rows and hopper_rows share: the one-hot operand made in registers, and where the sums of its rows go.

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::fused::rows {

inline constexpr float kNoSymbol = 512;  ///< equal to no symbol, and exact in 16 bits

template <class T>
struct Half;
template <>
struct Half<__half> {
  using Math = mma::Fp16;
  using Pair = __half2;
};
template <>
struct Half<__nv_bfloat16> {
  using Math = mma::Bf16;
  using Pair = __nv_bfloat162;
};

/// 1 where two numbers of 16 bits are equal, else 0, of both halves of the words.
template <class T>
__device__ __forceinline__ unsigned ones_where_equal(unsigned a, unsigned b) {
  using Pair = typename Half<T>::Pair;
  const Pair ones = __heq2(reinterpret_cast<const Pair&>(a), reinterpret_cast<const Pair&>(b));
  return reinterpret_cast<const unsigned&>(ones);
}

/// To dw (K, taps, C), and db where it is wanted.
struct StoreGradients {
  float* dw;
  float* db;
  int weights;  ///< of a filter
  __device__ __forceinline__ void operator()(int, int row, int filter, float sum) const {
    if (row < weights) {
      dw[std::int64_t{filter} * weights + row] = sum;
    } else if (db != nullptr) {
      db[filter] = sum;
    }
  }
};

}  // namespace warpscope::ops::conv2d::fused::rows
