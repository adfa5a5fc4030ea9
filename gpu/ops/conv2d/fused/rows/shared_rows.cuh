#pragma once
// What the kernels share that add rows of weights from shared memory (rows.h).

#include <type_traits>

#include "gpu/ops/mma.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::conv2d::fused::rows {

/// Adds the numbers of 16 bytes of a row.
template <class T>
__device__ __forceinline__ void add_words(float (&sums)[kWide<T>], const unsigned (&words)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      sums[i] += __uint_as_float(words[i]);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {  // an instruction a number; to_float takes more
      sums[2 * i] += __uint_as_float(words[i] << 16);
      sums[2 * i + 1] += __uint_as_float(words[i] & 0xffff0000U);
    } else {
      const auto pair = reinterpret_cast<const Vec<T, 2>&>(words[i]);
      sums[2 * i] += to_float(pair.at[0]);
      sums[2 * i + 1] += to_float(pair.at[1]);
    }
  }
}

/// The same of 16 bytes in shared memory.
template <class T>
__device__ __forceinline__ void add(float (&sums)[kWide<T>], mma::SharedAddress chunk) {
  unsigned words[4];
  mma::load_chunk(words, chunk);
  add_words<T>(sums, words);
}

}  // namespace warpscope::ops::conv2d::fused::rows
