#pragma once
// What the one-thread-per-element kernels share: the size of their launch and the width of their index.
//
// Each runs a grid-stride loop, so that any grid covers any count. Indices are 32 bits wide wherever the
// tensors allow it: 64-bit divisions, which taking an index apart needs, cost several times as much.

#include <algorithm>
#include <cstdint>
#include <limits>

#include <cuda_runtime.h>

#include "gpu/ops/op.h"

namespace warpscope::ops {

inline constexpr unsigned kElementThreads = 256;

/// Blocks of kElementThreads threads for `count` elements. At most 2^20, so that a 32-bit index that has
/// passed the end of fewer than 2^31 elements by one stride does not wrap.
inline unsigned element_blocks(std::int64_t count) {
  return static_cast<unsigned>(
      std::min<std::int64_t>((count + kElementThreads - 1) / kElementThreads, std::int64_t{1} << 20));
}

/// Elements of the op's (batch, height, width, in_channels) tensor.
inline std::int64_t input_elements(const OpShape& shape) {
  return shape.batch * shape.height * shape.width * shape.in_channels;
}

/// Calls launch(Index{}) with the narrower of std::uint32_t and std::uint64_t that can index `largest`
/// elements.
template <class Launch>
void with_index(std::int64_t largest, Launch launch) {
  if (largest <= std::numeric_limits<std::int32_t>::max()) {
    launch(std::uint32_t{});
  } else {
    launch(std::uint64_t{});
  }
}

/// The first element of this thread and its stride in a grid-stride loop.
template <class Index>
__device__ __forceinline__ Index first_element() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}
template <class Index>
__device__ __forceinline__ Index element_stride() {
  return static_cast<Index>(gridDim.x) * blockDim.x;
}

}  // namespace warpscope::ops
