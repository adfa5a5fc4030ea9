#pragma once
// What the `vectorized` element-wise kernels share: 16-byte accesses over the whole vectors of a tensor and
// single elements for what is left over. Source: J. Luitjens, "CUDA pro tip: increase performance with
// vectorized memory access" (2013).

#include <cstdint>
#include <type_traits>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops {

/// The values of the W elements from `from` on, read in accesses of 16 bytes or, if they are fewer bytes, in
/// one. `from` must be aligned to an access.
template <int W, class T>
__device__ __forceinline__ void load_floats(const T* from, float (&values)[W]) {
  constexpr int kAccess = W < kWide<T> ? W : kWide<T>;
#pragma unroll
  for (int first = 0; first < W; first += kAccess) {
    const auto vector = *reinterpret_cast<const Vec<T, kAccess>*>(from + first);
#pragma unroll
    for (int i = 0; i < kAccess; ++i) values[first + i] = to_float(vector.at[i]);
  }
}

/// The same for what nobody reads again soon: it leaves the second-level cache first.
template <int W, class T>
__device__ __forceinline__ void load_floats_once(const T* from, float (&values)[W]) {
  if constexpr (W < kWide<T>) {
    load_floats(from, values);
  } else {
#pragma unroll
    for (int first = 0; first < W; first += kWide<T>) {
      const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(from + first));
      const auto& vector = reinterpret_cast<const Vec<T, kWide<T>>&>(raw);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) values[first + i] = to_float(vector.at[i]);
    }
  }
}

/// The same for writing.
template <int W, class T>
__device__ __forceinline__ void store_floats(T* to, const float (&values)[W]) {
  constexpr int kAccess = W < kWide<T> ? W : kWide<T>;
#pragma unroll
  for (int first = 0; first < W; first += kAccess) {
    Vec<T, kAccess> vector;
#pragma unroll
    for (int i = 0; i < kAccess; ++i) vector.at[i] = from_float<T>(values[first + i]);
    *reinterpret_cast<Vec<T, kAccess>*>(to + first) = vector;
  }
}

/// Calls body(i, width) so that the grid covers [0, count): for the first `vectors` vectors of W elements
/// with width::value == W, for every element after these with width::value == 1.
template <int W, class Index, class Body>
__device__ __forceinline__ void for_each_vector(Index vectors, Index count, Body body) {
  for (Index v = first_element<Index>(); v < vectors; v += element_stride<Index>()) {
    body(v * W, std::integral_constant<int, W>{});
  }
  for (Index i = vectors * W + first_element<Index>(); i < count; i += element_stride<Index>()) {
    body(i, std::integral_constant<int, 1>{});
  }
}

/// How for_each_vector covers a tensor: `vectors` vectors and the blocks of the launch.
struct VectorCover {
  std::int64_t vectors;
  unsigned blocks;
};

/// Covers `count` elements with vectors of `width`, or with single elements if 16-byte accesses are not
/// `allowed`.
inline VectorCover cover(std::int64_t count, int width, bool allowed) {
  const std::int64_t vectors = allowed ? count / width : 0;
  return {vectors, element_blocks(vectors > 0 ? vectors : count)};
}

}  // namespace warpscope::ops
