#pragma once
// Strips of a product's matrices in shared memory: kChunkBytes of depth of as many lines as a tile has. A
// line is a row of A or a column of B. Where its terms are neighbours in memory (depth first) a strip has a
// row for each line, otherwise one for each depth; rows are padded so that the accesses of a warp fall into
// different banks. Lines and depths past the end are zeros.

#include <cstdint>

#include "gpu/ops/linear/split_k.h"
#include "gpu/ops/mma.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::linear::split_k {

/// A factor of a product. `access`: the bytes that may be read as one from the beginning of each of its rows:
/// 16, 4 or 2.
template <class T>
struct Factor {
  const T* data;
  unsigned lines;
  unsigned access;
};

template <class T, unsigned Lines, bool DepthFirst>
struct Strip {
  static constexpr bool kDepthFirst = DepthFirst;
  static constexpr unsigned kDepth = kChunkBytes / sizeof(T);
  static constexpr unsigned kRows = DepthFirst ? Lines : kDepth;
  static constexpr unsigned kColumns = DepthFirst ? kDepth : Lines;
  // Depth first, eight rows lie 16 bytes apart in the banks; line first, four rows of words lie eight banks
  // apart and eight rows of halves 16 bytes.
  static constexpr unsigned kPadding = DepthFirst || sizeof(T) == 2 ? 16 : 32;
  static constexpr unsigned kRowBytes = kColumns * sizeof(T) + kPadding;
  static constexpr unsigned kBytes = kRows * kRowBytes;

  static __device__ __forceinline__ unsigned offset(unsigned line, unsigned depth) {
    return (DepthFirst ? line : depth) * kRowBytes + (DepthFirst ? depth : line) * sizeof(T);
  }
};

/// Begins to load lines [first, first + Lines) and depths [begin, begin + kDepth), `kAccess` bytes at a time.
/// Copies of 16 and 4 bytes are asynchronous: of the group that the caller commits.
template <class S, unsigned kThreads, unsigned kAccess, class T>
__device__ __forceinline__ void load_by(unsigned char* strip, const Factor<T>& factor, unsigned depth,
                                        unsigned first, unsigned begin) {
  constexpr unsigned kElements = kAccess / sizeof(T);
  constexpr unsigned kPerRow = S::kColumns / kElements;
  constexpr unsigned kCount = S::kRows * kPerRow;
  constexpr unsigned kTurns = (kCount + kThreads - 1) / kThreads;
#pragma unroll(kTurns < 4 ? kTurns : 4)
  for (unsigned turn = 0; turn < kTurns; ++turn) {
    const unsigned e = turn * kThreads + threadIdx.x;
    if (kCount % kThreads != 0 && e >= kCount) break;
    const unsigned row = e / kPerRow;
    const unsigned at = e % kPerRow * kElements;
    const unsigned line = first + (S::kDepthFirst ? row : at);
    const unsigned k = begin + (S::kDepthFirst ? at : row);
    const bool inside = line < factor.lines && k < depth;
    const std::uint64_t place =
        S::kDepthFirst ? std::uint64_t{line} * depth + k : std::uint64_t{k} * factor.lines + line;
    const T* from = factor.data + (inside ? place : 0);
    unsigned char* to = strip + row * S::kRowBytes + at * sizeof(T);
    if constexpr (kAccess == 16) {
      mma::copy_async(mma::shared_address(to), from, inside);
    } else if constexpr (kAccess == 4) {
      mma::copy_word_async(mma::shared_address(to), from, inside);
    } else {
      *reinterpret_cast<T*>(to) = inside ? *from : from_float<T>(0.0f);
    }
  }
}

template <class S, unsigned kThreads, class T>
__device__ __forceinline__ void load_strip(unsigned char* strip, const Factor<T>& factor, unsigned depth,
                                           unsigned first, unsigned begin) {
  if (factor.access == 16) {
    load_by<S, kThreads, 16>(strip, factor, depth, first, begin);
  } else if (sizeof(T) == 4 || factor.access == 4) {
    load_by<S, kThreads, 4>(strip, factor, depth, first, begin);
  } else if constexpr (sizeof(T) == 2) {
    load_by<S, kThreads, 2>(strip, factor, depth, first, begin);
  }
}

}  // namespace warpscope::ops::linear::split_k
