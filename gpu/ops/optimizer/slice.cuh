#pragma once
// What the kernels that give a block one slice of the parameters (ops::slice_length) share.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/op.h"

namespace warpscope::ops::optimizer {

// With one block for each of the kSumParts slices a large GPU holds two on a multiprocessor: so many threads
// of each keep enough bytes on their way, and every thread still has work in a model of half a million
// parameters.
inline constexpr int kSliceThreads = 512;

/// [begin, end) of the parameters; whole vectors fill [begin, vectors_end).
struct Slice {
  std::int64_t begin;
  std::int64_t vectors_end;
  std::int64_t end;
};

/// The slice of this block, for vectors of `Width`; empty if it begins beyond the parameters.
template <int Width>
__device__ __forceinline__ Slice slice_of_block(std::int64_t count, std::int64_t length) {
  const std::int64_t begin = blockIdx.x * length;
  if (begin >= count) return {count, count, count};
  const std::int64_t end = begin + length < count ? begin + length : count;
  return {begin, end - (end - begin) % Width, end};
}

}  // namespace warpscope::ops::optimizer
