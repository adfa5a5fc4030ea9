#pragma once
// Moments of a convolution's output, taken of the words that an epilogue has in registers (hopper_moments.cuh, and
// hopper_general_moments.cuh).
//
// Moments are those of the values as they are stored, for these are what is normalized. A lane has two to six pixels of
// a tile, of which those that hang over do not count. Their moments for 32 channels at a time merge by Chan's formula
// with those of the seven other lanes that have the channels: in three steps a lane gives half of its channels away and
// takes another lane's moments of the other half, until it has one channel of all eight. These it keeps in registers
// from tile to tile, since a block has only tiles of the same channels. In the end the eight warps of a block merge by
// shared memory, where the tiles were, and the block leaves one part. Only shape and number of multiprocessors fix the
// order of all that.
// Source: T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
// (1979).

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/batch_norm/moments.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_activations_shape.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_epilogue.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"

namespace warpscope::ops::conv2d::fused::hopper {

/// Channels whose moments are merged at a time, as many as lanes: a quarter of the 128 of `hopper`'s tiles.
inline constexpr int kQuarter = 32;

/// How moments of other values come to one's own: by the counts, which all channels share.
struct Merging {
  float count;   ///< of both
  float share;   ///< of the others in it
  float weight;  ///< of the squared difference of the means

  __device__ __forceinline__ Merging(float own, float others)
      : count(own + others), share(others > 0.0f ? others / count : 0.0f), weight(own * share) {}
};

/// Moments without their count.
struct MeanAndSquares {
  float mean;
  float squares;

  __device__ __forceinline__ void merge(const MeanAndSquares& other, const Merging& how) {
    const float difference = other.mean - mean;
    mean = fmaf(difference, how.share, mean);
    squares += fmaf(difference * difference, how.weight, other.squares);
  }
};

/// What a lane has merged so far: of each quarter of the tile's channels the one at channel_of_lane().
template <int kQuarters>
struct LaneMoments {
  float count = 0;
  MeanAndSquares of[kQuarters] = {};
};

/// The channel of a quarter that a lane ends with.
__device__ __forceinline__ int channel_of_lane(const Lane& lane) {
  return lane.group / 2 * 8 + lane.member * 2 + lane.group % 2;
}

/// The two values of a stored word.
template <class Math>
__device__ __forceinline__ float widen_half(Math, unsigned word, int half) {
  return mma::widen(Math{}, static_cast<std::uint16_t>(half == 0 ? word & 0xffffu : word >> 16));
}

/// Pixels of a tile that a lane has: `kCount` of them.
template <class Storage, int kCount>
struct LanePixels {
  Storage* at[kCount];    ///< the tile's first channel; of what hangs over nullptr
  float exists[kCount];   ///< 1 or 0
  unsigned keep[kCount];  ///< all bits or none

  __device__ __forceinline__ void set(int i, bool is, Storage* to) {
    at[i] = is ? to : nullptr;
    exists[i] = is ? 1.0f : 0.0f;
    keep[i] = is ? ~0u : 0u;
  }
  __device__ __forceinline__ float count() const {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum += exists[i];
    return sum;
  }
  /// Those of one channel, whose values are 0 where the pixel does not exist. `share`: of one value in the mean.
  __device__ __forceinline__ MeanAndSquares moments(const float (&values)[kCount], float share) const {
    float sum = values[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) sum += values[i];
    MeanAndSquares result{sum * share, 0.0f};
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float distance = fmaf(-exists[i], result.mean, values[i]);
      result.squares = fmaf(distance, distance, result.squares);
    }
    return result;
  }
};

/// One step: of the first 2 kKept moments the lane keeps the upper or the lower half and merges it with that of the
/// lane `apart` from it, which keeps the other.
template <int kKept>
__device__ __forceinline__ void halve(MeanAndSquares (&moments)[8], bool upper, int apart,
                                      const Merging& how) {
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const MeanAndSquares low = moments[i];
    const MeanAndSquares high = moments[kKept + i];
    const MeanAndSquares others{__shfl_xor_sync(0xffffffffu, upper ? low.mean : high.mean, apart),
                                __shfl_xor_sync(0xffffffffu, upper ? low.squares : high.squares, apart)};
    moments[i] = {upper ? high.mean : low.mean, upper ? high.squares : low.squares};
    moments[i].merge(others, how);
  }
}

/// How a lane's moments of a tile come to those of the seven lanes that have the same channels, and all to those of the
/// tiles before. `own`: pixels of the lane.
struct Steps {
  float share;  ///< of one value in the lane's mean
  Merging far;
  Merging middle;
  Merging near;
  Merging before;

  __device__ __forceinline__ Steps(float own, float merged)
      : share(own > 0.0f ? 1.0f / own : 0.0f),
        far(own, __shfl_xor_sync(0xffffffffu, own, 16)),
        middle(far.count, __shfl_xor_sync(0xffffffffu, far.count, 8)),
        near(middle.count, __shfl_xor_sync(0xffffffffu, middle.count, 4)),
        before(merged, near.count) {}
};

/// Merges a quarter of the channels. `words`: of each pixel the lane's own, before lanes exchange them.
template <class Math, class Storage, int kPixels>
__device__ __forceinline__ void merge_quarter(Math, const unsigned (&words)[kPixels][4],
                                              const LanePixels<Storage, kPixels>& pixels, const Steps& how,
                                              const Lane& lane, MeanAndSquares& all) {
  MeanAndSquares moments[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    float values[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) values[i] = widen_half(Math{}, words[i][c / 2] & pixels.keep[i], c % 2);
    moments[c] = pixels.moments(values, how.share);
  }
  halve<4>(moments, (lane.group & 4) != 0, 16, how.far);
  halve<2>(moments, (lane.group & 2) != 0, 8, how.middle);
  halve<1>(moments, (lane.group & 1) != 0, 4, how.near);
  all.merge(moments[0], how.before);
}

/// All threads of both consumers wait for each other.
__device__ __forceinline__ void synchronize_consumers() {
  asm volatile("barrier.sync 1, %0;" ::"n"(kConsumerWarps * 32) : "memory");
}

/// Merges the warps of a block and leaves its part (batch_norm/partial_moments.h): row blockIdx.x / column_tiles of
/// `parts`. `tiles`: shared memory where nothing is copied any more, nor read when both consumers are here. A tile has
/// kTileChannels, of which the last quarter may lack some.
template <int kTileChannels, int kQuarters>
__device__ void leave_moments(const LaneMoments<kQuarters>& mine, unsigned char* tiles, int consumer,
                              const Lane& lane, int column_tiles, int channels, float* parts) {
  constexpr int kWarpChannels = kQuarters * kQuarter;
  static_assert(kTileChannels <= kWarpChannels && kTileChannels <= kConsumerWarps * 32);
  auto* of_warps = reinterpret_cast<MeanAndSquares*>(tiles);
  auto* counts = reinterpret_cast<float*>(of_warps + kConsumerWarps * kWarpChannels);
  const int warp = consumer * (kConsumerWarps / 2) + lane.warp;
  synchronize_consumers();
#pragma unroll
  for (int quarter = 0; quarter < kQuarters; ++quarter) {
    of_warps[warp * kWarpChannels + quarter * kQuarter + channel_of_lane(lane)] = mine.of[quarter];
  }
  counts[warp] = mine.count;
  synchronize_consumers();
  const int thread = warp * 32 + lane.group * 4 + lane.member;
  const int row = static_cast<int>(blockIdx.x) / column_tiles;
  const int channel = static_cast<int>(blockIdx.x) % column_tiles * kTileChannels + thread;
  if (thread >= kTileChannels || channel >= channels) return;
  batch_norm::Moments moments{};
  for (int i = 0; i < kConsumerWarps; ++i) {
    const MeanAndSquares part = of_warps[i * kWarpChannels + thread];
    moments.merge({counts[i], part.mean, part.squares});
  }
  float* part = parts + std::int64_t{row} * 3 * channels + channel;
  part[0] = moments.mean;
  part[channels] = moments.squares;
  part[2 * channels] = moments.count;
}

}  // namespace warpscope::ops::conv2d::fused::hopper
