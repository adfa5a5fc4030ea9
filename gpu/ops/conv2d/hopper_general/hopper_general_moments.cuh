#pragma once
// The epilogue of hopper_general.cuh before a batch norm: it writes the sums of a tile as write_rows() does, and takes
// the moments of what it writes, channel by channel, so that nobody has to read it for that (lane_moments.cuh). In 16
// bits, of forward, without activation. No spills but 124 bytes in tiles of 256 pixels and 192 channels.

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/lane_moments.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general_write.cuh"

namespace warpscope::ops::conv2d::hopper_general {

/// Moments of a lane: of as many quarters as channels of a tile begin, two of them a sum of the thread's.
template <int kCount>
using TileMoments = fused::hopper::LaneMoments<(kCount + 15) / 16>;

/// All rows of a warp: `kProducts` times 16 pixels that are kProductRows apart, and 2 kCount channels from `channel`
/// on, of which the last quarter may lack some. The sums have the bias.
template <class Math, int kProducts, int kCount>
__device__ __forceinline__ void write_and_sum(Math, const float (&sums)[kProducts][kCount], const Problem& q,
                                              const Lattice& lattice, const Result<Math>& to, int pixel,
                                              int channel, const fused::hopper::Lane& lane,
                                              TileMoments<kCount>& all) {
  constexpr int kPixels = 2 * kProducts;
  constexpr int kEights = kCount / 4;
  constexpr int kQuarters = (kEights + 3) / 4;
  fused::hopper::LanePixels<typename Math::Storage, kPixels> pixels;
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const int mine = pixel + kProductRows * (i / 2) + 8 * (i % 2) + lane.group;
    const bool exists = mine < lattice.pixels;
    pixels.set(i, exists, to.out + element_of(q, lattice, exists ? mine : 0) + channel);
  }
  const fused::hopper::Steps how(pixels.count(), all.count);
#pragma unroll
  for (int quarter = 0; quarter < kQuarters; ++quarter) {
    unsigned words[kPixels][4] = {};
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
#pragma unroll
      for (int k = 0; k < 4 && 4 * quarter + k < kEights; ++k) {
        const int element = 4 * (4 * quarter + k) + 2 * (i % 2);
        words[i][k] = mma::narrow_pair(Math{}, sums[i / 2][element], sums[i / 2][element + 1]);
      }
      unsigned chunk[4] = {words[i][0], words[i][1], words[i][2], words[i][3]};
      transpose(chunk, lane.member);
      const int eight = 4 * quarter + lane.member;
      if (pixels.at[i] != nullptr && eight < kEights && channel + 8 * eight < q.channels) {
        fused::hopper::write_chunk(pixels.at[i] + 8 * eight, chunk);
      }
    }
    fused::hopper::merge_quarter(Math{}, words, pixels, how, lane, all.of[quarter]);
  }
  all.count = how.before.count;
}

}  // namespace warpscope::ops::conv2d::hopper_general
