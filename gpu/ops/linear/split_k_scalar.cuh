#pragma once
// The sums of a tile on the CUDA cores, for FP32: groups of threads share a chunk's depth, and within a group
// each thread owns a small rectangle of the tile in registers. Four depths at a time: each value that is read
// from shared memory, in accesses of up to 16 bytes, serves a row or a column of the rectangle.

#include "gpu/ops/linear/split_k_strips.cuh"

namespace warpscope::ops::linear::split_k {

/// `Rows` x `Columns`: of the rectangle of a thread. `Stages`: chunks that are loaded or in use at once.
template <unsigned Tile, unsigned Rows, unsigned Columns, unsigned Stages>
class ScalarTile {
 public:
  using Value = float;
  static constexpr unsigned kTile = Tile;
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kStages = Stages;
  static constexpr unsigned kDown = Tile / Rows;       ///< threads along the rows of a tile
  static constexpr unsigned kAcross = Tile / Columns;  ///< and along its columns
  static constexpr unsigned kGroups = kThreads / (kDown * kAcross);

  template <class A, class B>
  __device__ __forceinline__ void add(const unsigned char* a_strip, const unsigned char* b_strip) {
    constexpr unsigned kSteps = A::kDepth / 4;
#pragma unroll
    for (unsigned step = 0; step < kSteps; step += kGroups) {
      const unsigned depth = (step + group()) * 4;
      float a[4][Rows];
      float b[4][Columns];
      fetch<A, kDown>(a_strip, depth, down(), a);
      fetch<B, kAcross>(b_strip, depth, across(), b);
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
#pragma unroll
        for (unsigned i = 0; i < Rows; ++i) {
#pragma unroll
          for (unsigned j = 0; j < Columns; ++j) sums_[i][j] += a[k][i] * b[k][j];
        }
      }
    }
  }

  /// Writes the group's sums to tile[group][row][column], rows of `stride`.
  template <class A, class B>
  __device__ __forceinline__ void store(float* tile, unsigned stride) const {
    tile += group() * Tile * stride;
#pragma unroll
    for (unsigned i = 0; i < Rows; ++i) {
#pragma unroll
      for (unsigned j = 0; j < Columns; ++j) {
        tile[line<A, kDown, Rows>(down(), i) * stride + line<B, kAcross, Columns>(across(), j)] = sums_[i][j];
      }
    }
  }

 private:
  static __device__ __forceinline__ unsigned group() {
    return threadIdx.x / (kDown * kAcross);
  }
  static __device__ __forceinline__ unsigned down() {
    return threadIdx.x % kDown;
  }
  static __device__ __forceinline__ unsigned across() {
    return threadIdx.x / kDown % kAcross;
  }

  /// Lines that are read as one where they are neighbours in a strip.
  template <unsigned Owned>
  static constexpr unsigned kVector = Owned < 4 ? Owned : 4;

  /// The line of the tile that is line i of the `Owned` ones of thread `thread` of `Threads`.
  template <class S, unsigned Threads, unsigned Owned>
  static __device__ __forceinline__ unsigned line(unsigned thread, unsigned i) {
    if constexpr (S::kDepthFirst) return i * Threads + thread;
    constexpr unsigned V = kVector<Owned>;
    return i / V * (Threads * V) + thread * V + i % V;
  }

  template <class S, unsigned Threads, unsigned Owned>
  static __device__ __forceinline__ void fetch(const unsigned char* strip, unsigned depth, unsigned thread,
                                               float (&values)[4][Owned]) {
    if constexpr (S::kDepthFirst) {
#pragma unroll
      for (unsigned i = 0; i < Owned; ++i) {
        const auto four = *reinterpret_cast<const Vec<float, 4>*>(
            strip + S::offset(line<S, Threads, Owned>(thread, i), depth));
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) values[k][i] = four.at[k];
      }
    } else {
      constexpr unsigned V = kVector<Owned>;
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
#pragma unroll
        for (unsigned i = 0; i < Owned; i += V) {
          const auto vector = *reinterpret_cast<const Vec<float, V>*>(
              strip + S::offset(line<S, Threads, Owned>(thread, i), depth + k));
#pragma unroll
          for (unsigned v = 0; v < V; ++v) values[k][i + v] = vector.at[v];
        }
      }
    }
  }

  float sums_[Rows][Columns] = {};
};

}  // namespace warpscope::ops::linear::split_k
