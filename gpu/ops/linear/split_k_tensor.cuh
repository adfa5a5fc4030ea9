#pragma once
// The sums of a tile on the tensor cores, for FP16, BF16 and TF32: groups of warps share a chunk's depth in
// steps of 32 bytes, and within a group each warp owns a rectangle of the tile. Fragments are those of
// mma.cuh.

#include "gpu/ops/linear/split_k_strips.cuh"

namespace warpscope::ops::linear::split_k {

/// `Down` x `Across` warps of a group. `Arithmetic`: of mma.cuh; T: how its elements are stored.
template <class Arithmetic, class T, unsigned Tile, unsigned Down, unsigned Across, unsigned Groups,
          unsigned Stages>
class TensorTile {
 public:
  using Value = T;
  static constexpr unsigned kTile = Tile;
  static constexpr unsigned kThreads = Down * Across * Groups * 32;
  static constexpr unsigned kStages = Stages;
  static constexpr unsigned kGroups = Groups;

  template <class A, class B>
  __device__ __forceinline__ void add(const unsigned char* a_strip, const unsigned char* b_strip) {
    constexpr unsigned kSteps = kChunkBytes / kStepBytes;
    const mma::SharedAddress a_begin = mma::shared_address(a_strip);
    const mma::SharedAddress b_begin = mma::shared_address(b_strip);
#pragma unroll
    for (unsigned step = 0; step < kSteps; step += Groups) {
      const unsigned depth = (step + group()) * kStepDepth;
      unsigned a[kRowTiles][4];
      unsigned b[kColumnTiles][2];
#pragma unroll
      for (unsigned i = 0; i < kRowTiles; ++i) {
        fetch<A, false>(a_begin, first_row() + i * 16, depth, a[i]);
      }
#pragma unroll
      for (unsigned j = 0; j < kColumnTiles; j += 2) {
        unsigned both[4];
        fetch<B, true>(b_begin, first_column() + j * 8, depth, both);
        b[j][0] = both[0];
        b[j][1] = both[1];
        b[j + 1][0] = both[2];
        b[j + 1][1] = both[3];
      }
#pragma unroll
      for (unsigned i = 0; i < kRowTiles; ++i) {
#pragma unroll
        for (unsigned j = 0; j < kColumnTiles; ++j) {
          mma::multiply_add(Arithmetic{}, sums_[i][j], a[i], b[j]);
        }
      }
    }
  }

  /// Writes the group's sums to tile[group][row][column], rows of `stride`.
  template <class A, class B>
  __device__ __forceinline__ void store(float* tile, unsigned stride) const {
    const unsigned row = first_row() + lane() / 4;
    const unsigned column = first_column() + lane() % 4 * 2;
    tile += group() * Tile * stride;
#pragma unroll
    for (unsigned i = 0; i < kRowTiles; ++i) {
#pragma unroll
      for (unsigned j = 0; j < kColumnTiles; ++j) {
        float* at = tile + (row + i * 16) * stride + column + j * 8;
        *reinterpret_cast<Vec<float, 2>*>(at) = {sums_[i][j][0], sums_[i][j][1]};
        *reinterpret_cast<Vec<float, 2>*>(at + 8 * stride) = {sums_[i][j][2], sums_[i][j][3]};
      }
    }
  }

 private:
  static constexpr unsigned kStepBytes = 32;
  static constexpr unsigned kStepDepth = kStepBytes / sizeof(T);
  static constexpr unsigned kRowTiles = Tile / Down / 16;
  static constexpr unsigned kColumnTiles = Tile / Across / 8;
  static_assert(kRowTiles > 0 && kColumnTiles % 2 == 0);

  static __device__ __forceinline__ unsigned lane() {
    return threadIdx.x % 32;
  }
  static __device__ __forceinline__ unsigned warp() {
    return threadIdx.x / 32;
  }
  static __device__ __forceinline__ unsigned group() {
    return warp() / (Down * Across);
  }
  static __device__ __forceinline__ unsigned first_row() {
    return warp() % Down * (Tile / Down);
  }
  static __device__ __forceinline__ unsigned first_column() {
    return warp() / Down % Across * (Tile / Across);
  }

  /// The 16 lines from `line` on: words 0 and 2 of a fragment are of the first 8 lines, or with Pairs words 0
  /// and 1; the other two are of the last 8.
  template <class S, bool Pairs>
  static __device__ __forceinline__ void fetch(mma::SharedAddress strip, unsigned line, unsigned depth,
                                               unsigned (&words)[4]) {
    // Whether matrix lane / 8 is of the last 8 lines and whether of the last 16 bytes of depth.
    const unsigned second = lane() / 8 % 2;
    const unsigned third = lane() / 16;
    const unsigned last_lines = Pairs ? third : second;
    const unsigned last_depths = Pairs ? second : third;
    if constexpr (S::kDepthFirst) {
      mma::load_matrices(words, strip + S::offset(line + last_lines * 8 + lane() % 8,
                                                  depth + last_depths * (kStepDepth / 2)));
    } else if constexpr (sizeof(T) == 2) {
      mma::load_matrices_transposed(
          words, strip + S::offset(line + last_lines * 8, depth + last_depths * 8 + lane() % 8));
    } else {
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) {
        const unsigned lines = Pairs ? w / 2 : w % 2;
        const unsigned depths = Pairs ? w % 2 : w / 2;
        words[w] =
            mma::load_word(strip + S::offset(line + lines * 8 + lane() / 4, depth + depths * 4 + lane() % 4));
      }
    }
#pragma unroll
    for (unsigned& word : words) word = mma::operand_word(Arithmetic{}, word);
  }

  float sums_[kRowTiles][kColumnTiles][4] = {};
};

}  // namespace warpscope::ops::linear::split_k
