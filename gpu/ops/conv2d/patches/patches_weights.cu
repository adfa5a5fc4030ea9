// conv2d.backward_weights of patches.h, a product over the pixels:
//
//   dw[k, (tap, chunk)] = sum over pixels of dy[pixel, k] * patch[pixel + tap, chunk]
//
// A block takes tiles in turn; while it multiplies one, the patch and the tile of dy of the next are copied. The rows
// of the product are the channels of two pairs (tap, chunk), its columns eight filters, both read from where they lie,
// transposed on the way, without bank conflicts. Warps share the pairs, and where these are few the pixels; their sums
// stay in registers over all tiles. At the end warps with the same pairs add up in order, and the block writes its
// partial sums, which a second kernel adds in order (fused/narrow/narrow_sum.h). The bias's gradient is the row of a
// pair of ones.
//
// Bound by shared memory and mma.sync alike: of 24 filters and 9 taps 16 pixels take 14 * 4 + 4 * 6 reads of 128 bytes
// for 42 products. Registers: at most 128. Source: that of patches.cuh.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/conv2d/patches/patches_copy.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::patches {
namespace {

constexpr int kWeightsThreads = 32 * kWeightsWarps;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ constexpr unsigned pair_of_ones(mma::Fp16) {
  return 0x3c003c00u;
}
__device__ __forceinline__ constexpr unsigned pair_of_ones(mma::Bf16) {
  return 0x3f803f80u;
}
#endif

/// Starts the copies of a tile of dy; zeros for what does not exist.
template <int kFragments>
__device__ __forceinline__ void copy_gradient(const Problem& q, const TilePlace& at,
                                              const Half* __restrict__ dy, const int* __restrict__ places,
                                              mma::SharedAddress to) {
  constexpr int kPitch = kFragments | 1;
  const int chunks = (q.tile_pixels() + 15) / 16 * 16 * kFragments;
  for (int i = static_cast<int>(threadIdx.x); i < chunks; i += kWeightsThreads) {
    const int pixel = i / kFragments;
    const int fragment = i - pixel * kFragments;
    const int element = filter_element(q, at, places[pixel], kChunkChannels * fragment);
    mma::copy_async(to + static_cast<unsigned>((pixel * kPitch + fragment) * kChunkBytes),
                    element < 0 ? dy : dy + element, element >= 0);
  }
}

template <class Math>
__device__ __forceinline__ void write_weights_tables(Math, const Problem& q, const WeightsLayout& layout,
                                                     unsigned char* shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < 8) reinterpret_cast<unsigned*>(shared)[thread] = thread < 4 ? pair_of_ones(Math{}) : 0u;
  for (int i = thread; i < kTilePixels; i += kWeightsThreads) {
    const int place = place_of(q, i);
    reinterpret_cast<int*>(shared + layout.offsets)[i] = patch_offset(q, place < 0 ? 0 : place);
    reinterpret_cast<int*>(shared + layout.places)[i] = place;
  }
}

template <int kFragments>
using PairSums = float[warp_pair_tiles_of(kFragments)][kFragments][4];

/// What a lane reads of its warp's tiles of pairs.
template <int kTiles>
struct PairPlaces {
  /// From the place of a pixel in its patch on, in bytes; of ones and zeros in shared memory.
  int from[kTiles];
  unsigned moved = 0;  ///< a bit for each that is in the patch

  __device__ __forceinline__ PairPlaces(const Problem& q, int first_tile, int lane) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const int pair = 2 * (first_tile + t) + lane / 8 % 2;
      const bool exists = pair < q.pairs();
      from[t] = exists ? pair_offset(q, pair) : pair == q.pairs() ? 0 : kChunkBytes;
      moved |= exists ? 1u << t : 0u;
    }
  }
};

/// Adds the pixels of a tile that are this warp's: those of steps `part`, `part` + `parts`, ...
template <class Math, int kFragments>
__device__ __forceinline__ void multiply_pixels(PairSums<kFragments>& sums, int steps, int count,
                                                const PairPlaces<warp_pair_tiles_of(kFragments)>& pairs,
                                                mma::SharedAddress shared, mma::SharedAddress patch,
                                                mma::SharedAddress gradient, const int* __restrict__ offsets,
                                                int part, int parts, int lane) {
  constexpr int kTiles = warp_pair_tiles_of(kFragments);
  constexpr int kPitch = kFragments | 1;
  const mma::SharedAddress line = gradient + static_cast<unsigned>(lane % 16 * kPitch * kChunkBytes);
  const auto right = static_cast<unsigned>(lane / 16 * kChunkBytes);
  for (int step = part; step < steps; step += parts) {
    const mma::SharedAddress pixel =
        patch + static_cast<unsigned>(offsets[16 * step + lane / 16 * 8 + lane % 8]);
    const mma::SharedAddress from = line + static_cast<unsigned>(16 * step * kPitch * kChunkBytes);
    unsigned b[kFragments][2];
#pragma unroll
    for (int j = 0; j < kFragments; j += 2) {
      if (j + 1 < kFragments) {
        unsigned both[4];
        mma::load_matrices_transposed(both, from + right + j * kChunkBytes);
        b[j][0] = both[0];
        b[j][1] = both[1];
        b[j + 1][0] = both[2];
        b[j + 1][1] = both[3];
      } else {
        mma::load_matrices_transposed(b[j], from + j * kChunkBytes);
      }
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (t >= count) break;
      unsigned a[4];
      const bool moved = (pairs.moved >> t & 1u) != 0;
      mma::load_matrices_transposed(a, (moved ? pixel : shared) + static_cast<unsigned>(pairs.from[t]));
#pragma unroll
      for (int j = 0; j < kFragments; ++j) mma::multiply_add(Math{}, sums[t][j], a, b[j]);
    }
  }
}

/// Adds the sums of the warps that share pixels, in order, to those of the first ones.
template <int kFragments>
__device__ __forceinline__ void add_parts(PairSums<kFragments>& sums, int count, float4* shared, int part,
                                          int parts, int lane) {
  for (int turn = 1; turn < parts; ++turn) {
    __syncthreads();
#pragma unroll
    for (int t = 0; t < warp_pair_tiles_of(kFragments); ++t) {
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
        float(&four)[4] = sums[t][j];
        if (part == turn && t < count) {
          shared[(t * kFragments + j) * 32 + lane] = {four[0], four[1], four[2], four[3]};
        }
      }
    }
    __syncthreads();
    if (part != 0) continue;
#pragma unroll
    for (int t = 0; t < warp_pair_tiles_of(kFragments); ++t) {
      if (t >= count) break;
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
        const float4 other = shared[(t * kFragments + j) * 32 + lane];
        sums[t][j][0] += other.x;
        sums[t][j][1] += other.y;
        sums[t][j][2] += other.z;
        sums[t][j][3] += other.w;
      }
    }
  }
}

/// Writes a warp's sums where dw and db, behind it, have them.
template <int kFragments>
__device__ __forceinline__ void write_partial(const PairSums<kFragments>& sums, const Problem& q,
                                              int first_tile, int count, float* __restrict__ partial,
                                              int lane) {
  const int channels = kChunkChannels * q.chunks;
#pragma unroll
  for (int t = 0; t < warp_pair_tiles_of(kFragments); ++t) {
    if (t >= count) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pair = 2 * (first_tile + t) + half;
      const bool bias = pair == q.pairs();
      if (pair > q.pairs() || (bias && lane >= 4)) continue;
      // Taps and chunks follow each other as in dw.
      const int first = bias ? q.pairs() * kChunkChannels * q.filters : kChunkChannels * pair + lane / 4;
      const int step = bias ? 1 : q.taps() * channels;
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int filter = kChunkChannels * j + 2 * (lane % 4) + e;
          if (filter < q.filters) partial[first + filter * step] = sums[t][j][2 * half + e];
        }
      }
    }
  }
}

template <class Math, int kFragments>
__global__ void __launch_bounds__(kWeightsThreads, 2)
    conv2d_patches_weights(const __grid_constant__ Problem q, const Half* __restrict__ x,
                           const Half* __restrict__ dy, float* __restrict__ partial) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char patches_shared[];
  const WeightsLayout layout = weights_layout(q);
  const PairTiles tiles = pair_tiles_of(q);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int mine = warp % tiles.sharing;
  const int part = warp / tiles.sharing;
  const int parts = kWeightsWarps / tiles.sharing;
  const int first_of_slab = static_cast<int>(blockIdx.y) * tiles.of_slab;
  const int first_tile = first_of_slab + mine * tiles.of_warp;
  const int all_tiles = (q.pairs() + 2) / 2;
  const int end_tile = min(min(first_of_slab + tiles.of_slab, all_tiles), first_tile + tiles.of_warp);
  const int count = end_tile - first_tile;  // of a warp without any: not positive
  const PairPlaces<warp_pair_tiles_of(kFragments)> pairs(q, first_tile, lane);
  const mma::SharedAddress shared = mma::shared_address(patches_shared);
  const mma::SharedAddress stages = shared + static_cast<unsigned>(layout.stages);
  const auto stage_bytes = static_cast<unsigned>(layout.stage_bytes);
  const auto gradient = static_cast<unsigned>(layout.gradient);
  const auto* const offsets = reinterpret_cast<const int*>(patches_shared + layout.offsets);
  const auto* const places = reinterpret_cast<const int*>(patches_shared + layout.places);
  write_weights_tables(Math{}, q, layout, patches_shared);
  __syncthreads();

  const auto copy = [&](int tile, mma::SharedAddress to) {
    const TilePlace at(q, tile);
    copy_patch<kWeightsWarps>(q, at, x, to, warp, lane);
    copy_gradient<kFragments>(q, at, dy, places, to + gradient);
    mma::commit_copies();
  };
  const auto stride = static_cast<int>(gridDim.x);
  const int steps = (q.tile_pixels() + 15) / 16;
  int tile = static_cast<int>(blockIdx.x);
  mma::SharedAddress stage = stages;
  copy(tile, stage);
  PairSums<kFragments> sums = {};
  for (; tile < q.tiles; tile += stride) {
    mma::wait_copies<0>();
    __syncthreads();  // this stage is there, and the other one is multiplied
    const mma::SharedAddress next = stage == stages ? stages + stage_bytes : stages;
    if (tile + stride < q.tiles) copy(tile + stride, next);
    multiply_pixels<Math, kFragments>(sums, steps, count, pairs, shared, stage, stage + gradient, offsets,
                                      part, parts, lane);
    stage = next;
  }
  auto* const added = reinterpret_cast<float4*>(patches_shared + layout.stages);
  add_parts<kFragments>(sums, count, added + mine * warp_pair_tiles_of(kFragments) * kFragments * 32, part,
                        parts, lane);
  if (part != 0) return;
  const auto split = static_cast<std::int64_t>(blockIdx.x);
  write_partial<kFragments>(sums, q, first_tile, count, partial + split * split_elements(q), lane);
#endif
}

template <class Math, int kFragments>
void launch_weights_kernel(const OpCall& call, const Problem& q) {
  const dim3 blocks(static_cast<unsigned>(splits_of(q)), static_cast<unsigned>(pair_tiles_of(q).slabs));
  const auto kernel = conv2d_patches_weights<Math, kFragments>;
  prefer_shared_memory(call, kernel);
  run_kernel(call, "the products",
             Launch{blocks, kWeightsThreads, static_cast<std::size_t>(weights_layout(q).bytes), kSharedBytes},
             kernel, q, Name::input, Name::output_gradient, call.workspace);
}

template <class Math>
void launch_products(const OpCall& call, const Problem& q) {
  switch (fragments_of(q.filters)) {
    case 1:
      return launch_weights_kernel<Math, 1>(call, q);
    case 2:
      return launch_weights_kernel<Math, 2>(call, q);
    case 3:
      return launch_weights_kernel<Math, 3>(call, q);
    case 4:
      return launch_weights_kernel<Math, 4>(call, q);
    case 6:
      return launch_weights_kernel<Math, 6>(call, q);
    default:
      return launch_weights_kernel<Math, 8>(call, q);
  }
}

}  // namespace

void launch_weights(const OpCall& call, const Problem& q) {
  mma::with_16_bits(call.precision, [&](auto math) { launch_products<decltype(math)>(call, q); });
  fused::narrow::launch_sum(
      *call.variant, *call.stream, "the sum of the splits",
      {split_elements(q) - q.filters, q.filters, splits_of(q)},
      {static_cast<const float*>(call.workspace), call.operand<float>(Name::weights_gradient),
       call.operand<float>(Name::bias_gradient)});
}

}  // namespace warpscope::ops::conv2d::patches
