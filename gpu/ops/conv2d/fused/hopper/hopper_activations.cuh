#pragma once
// The kernel behind the wide layers' forward and backward_input, one computation on different tensors:
//
//   out[pixel, j] = sum over planes p, taps (t, u) and channels c of
//                   in[p][pixel + (t, u) - shift, c] * weight(p, t, u, c, j)
//
//   forward         in = x, 3x3 taps; upsampled: for each parity of the output 2x2 taps of summed weights
//   backward_input  in = dy, the taps turned round; upsampled: dy is four planes by parity, 2x2 taps each; summed:
//                   another gradient is added (hopper_addend.cuh)
//
// Persistent blocks: warp 0 of the first warpgroup copies (TMA), two warpgroups multiply (wgmma), each its
// own half of a tile of two or four patches (64 pixels each) and 128 channels, or, where the output has no more
// than 64 channels, of a slim tile of four or six patches and these; of lines that are pooled (hopper_line_pooled.cu)
// of two patches of 192 positions. Pixels and weights wait in rings of their own: what is copied for one column of
// taps serves all its rows. In backward_input two more warps of the first warpgroup read the mask, and the places of
// windows, into shared memory as bits while the products run (hopper_mask.cuh).
//
// In 16 bits backward_input reads the weights as they lie, turned by the tensor cores; in TF32, which they do
// not turn, the weights come with the input channels as filters.
//
// Before a batch norm forward also leaves the moments of its output (hopper_moments.cuh).
//
// Threads 384 of 168 registers, exchanged to 40 and 232 (backward_input: 88 and 208); shared memory 221 KiB
// with four patches and 3x3 taps, 161 KiB with two; of lines with 7 taps 213 and 157 KiB; of slim tiles with
// six patches and 3x3 taps 225 KiB, with four 165 KiB.
// Source: NVIDIA, "CUTLASS documentation", "Efficient GEMM in CUDA", section "Warp specialization".

#include <algorithm>
#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_activations_shape.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_addend.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_mask.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_moments.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

inline constexpr int kThreads = 384;

// ---- copies ----

/// One slice of channels of the tile's pixels, for the column u of taps.
template <class S>
__device__ __forceinline__ void copy_pixels(const ActivationsProblem& q, const Places<S>& at,
                                            const Ring<S::pixel_stages>& ring, const CUtensorMap& pixels,
                                            const Place (&patches)[S::tile_patches], int parity, int plane,
                                            int slice, int u) {
  // How far the first tap lies before the pixel: 1 of 3x3; of 2x2 taps that depends on the parity.
  const int side = S::back ? plane : parity;
  const int row_shift = S::line ? q.line_shift : S::taps == 3 ? 1 : S::back ? side >> 1 : 1 - (side >> 1);
  const int column_shift = S::line ? 0 : S::taps == 3 ? 1 : S::back ? side & 1 : 1 - (side & 1);
  const int channel = ((plane & 1) * q.slices + slice) * S::slice;
  const SharedAddress full = at.pixels_full(ring.stage);
  const SharedAddress to = at.pixels(ring.stage);
  wait(at.pixels_empty(ring.stage), ring.parity ^ 1);
  arrive_expecting(full, S::pixel_bytes);
#pragma unroll
  for (int i = 0; i < S::tile_patches; ++i) {
    load_patch<S::small>(to + static_cast<unsigned>(i) * S::patch_bytes, pixels, full, channel,
                         patches[i].column + u - column_shift, plane >> 1,
                         S::window * patches[i].row - row_shift, patches[i].image);
  }
}

/// One slice of channels of the tile's filters, of tap (t, u).
template <class S>
__device__ __forceinline__ void copy_filters(const Places<S>& at, const Ring<S::filter_stages>& ring,
                                             const CUtensorMap& filters, const Tile& tile, int plane,
                                             int slice, int t, int u) {
  constexpr int kLastRow = S::taps - 1;
  constexpr int kLastColumn = S::tap_columns - 1;
  const int tap = S::back ? (kLastRow - t) * S::tap_columns + kLastColumn - u : t * S::tap_columns + u;
  const int set = S::taps != 2 ? 0 : (S::back ? plane : tile.parity) * S::taps * S::taps;
  const SharedAddress full = at.filters_full(ring.stage);
  const SharedAddress to = at.filters(ring.stage);
  wait(at.filters_empty(ring.stage), ring.parity ^ 1);
  arrive_expecting(full, S::filter_bytes);
  if constexpr (S::turned) {
    // Rows are the channels of dy; the tile's channels are two slices, of slim tiles one.
    load_box(to, filters, full, tile.channel, slice * S::slice, set + tap);
    if constexpr (!S::slim) {
      load_box(to + S::filter_bytes / 2, filters, full, tile.channel + S::slice, slice * S::slice, set + tap);
    }
  } else {
    load_box(to, filters, full, slice * S::slice, tile.channel, set + tap);
  }
}

/// One thread: all copies of the block, in the order in which the consumers use them.
template <class S>
__device__ void produce(const ActivationsProblem& q, const Places<S>& at, const CUtensorMap& pixels,
                        const CUtensorMap& filters) {
  prefetch_map(pixels);
  prefetch_map(filters);
  Ring<S::pixel_stages> pixel_ring;
  Ring<S::filter_stages> filter_ring;
  for (int i = static_cast<int>(blockIdx.x); i < q.tiles; i += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_of<S>(q, i);
    Place patches[S::tile_patches];
#pragma unroll
    for (int p = 0; p < S::tile_patches; ++p) patches[p] = place_of<S::small>(q.grid, tile.patch + p);
#pragma unroll 1
    for (int plane = 0; plane < q.planes; ++plane) {
#pragma unroll 1
      for (int slice = 0; slice < q.slices; ++slice) {
#pragma unroll 1
        for (int u = 0; u < S::tap_columns; ++u) {
          copy_pixels<S>(q, at, pixel_ring, pixels, patches, tile.parity, plane, slice, u);
          pixel_ring.advance();
#pragma unroll 1
          for (int t = 0; t < S::taps; ++t) {
            copy_filters<S>(at, filter_ring, filters, tile, plane, slice, t, u);
            filter_ring.advance();
          }
        }
      }
    }
  }
}

// ---- products ----

/// Gives a stage back to the producer: one lane of each warp.
__device__ __forceinline__ void release(SharedAddress barrier, int lane) {
  if (lane == 0) arrive(barrier);
}

/// The products of one stage of filters, of row t of taps.
template <class S>
__device__ __forceinline__ void multiply_stage(float (&sums)[S::products][S::sums], SharedAddress pixels,
                                               SharedAddress filters, int t, bool add) {
  // Tiles of one slice in K-major order, and slim ones, have no second slice: the field is not used.
  const std::uint64_t a = describe(pixels + static_cast<unsigned>(t) * kTapBytes<S::small>, 16, S::window);
  const std::uint64_t b = describe(filters, S::turned ? S::filter_bytes / 2 : 16);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < S::products; ++i) {
      multiply<0, S::turned ? 1 : 0>(
          typename S::Math{}, sums[i],
          advanced(a,
                   static_cast<unsigned>(i) * S::product_bytes + static_cast<unsigned>(step) * kStraightStep),
          advanced(b, static_cast<unsigned>(step) * (S::turned ? kTurnedStep : kStraightStep)),
          add || step > 0);
    }
  }
}

/// The sums of one tile. A stage is given back when the products after it have been issued and its own are
/// done.
template <class S>
__device__ __forceinline__ void multiply_tile(float (&sums)[S::products][S::sums], const Places<S>& at,
                                              Ring<S::pixel_stages>& pixel_ring,
                                              Ring<S::filter_stages>& filter_ring, int columns, int consumer,
                                              int lane) {
  SharedAddress used_pixels = 0;
  SharedAddress used_filters = 0;
  for (int column = 0; column < columns; ++column) {
    wait(at.pixels_full(pixel_ring.stage), pixel_ring.parity);
    const SharedAddress pixels =
        at.pixels(pixel_ring.stage) + static_cast<unsigned>(consumer * S::patches) * S::patch_bytes;
#pragma unroll
    for (int t = 0; t < S::taps; ++t) {
      wait(at.filters_full(filter_ring.stage), filter_ring.parity);
      fence_products();
      multiply_stage<S>(sums, pixels, at.filters(filter_ring.stage), t, column > 0 || t > 0);
      commit_products();
      wait_products<1>();
      if (column > 0 || t > 0) release(used_filters, lane);
      if (column > 0 && t == 0) release(used_pixels, lane);
      used_filters = at.filters_empty(filter_ring.stage);
      filter_ring.advance();
    }
    used_pixels = at.pixels_empty(pixel_ring.stage);
    pixel_ring.advance();
  }
  wait_products<0>();
  release(used_filters, lane);
  release(used_pixels, lane);
}

/// Writes a consumer's sums of a tile. `extra`: bias or mask in shared memory.
template <class S>
__device__ __forceinline__ void write_tile(const ActivationsProblem& q, const Tile& tile,
                                           const float (&sums)[S::products][S::sums],
                                           const unsigned char* extra, typename S::Storage* out,
                                           std::uint8_t* argmax, int consumer, const Lane& lane,
                                           [[maybe_unused]] LaneMoments<S::columns / kQuarter>& moments) {
  using Math = typename S::Math;
  const int first = consumer * S::patches;
  const float* bias = reinterpret_cast<const float*>(extra) + tile.channel;  // of forward
  if constexpr (S::moments) {
    write_and_sum<S::small>(Math{}, sums, q.to, out, q.grid, tile.patch + first, tile.parity, tile.channel,
                            bias, lane, moments);
  } else {
#pragma unroll
    for (int p = 0; p < S::patches; ++p) {
      const Place patch = place_of<S::small>(q.grid, tile.patch + first + p);
      [[maybe_unused]] const unsigned char* mask =
          is_marked<S>(q) ? extra + (first + p) * kPatchPixels * S::mask_pixel_bytes : nullptr;
      if constexpr (S::unpool) {
        write_unpooled<kLineWindow>(Math{}, sums[p], q.to, out, patch, tile.channel, mask, lane);
      } else if constexpr (S::summed) {
        write_summed<S::small>(Math{}, sums[p], q.to, static_cast<const typename S::Storage*>(q.addend), out,
                               patch, tile.channel, mask, lane);
      } else if constexpr (S::back) {
        write_masked<S::small>(Math{}, sums[p], q.to, out, patch, tile.channel, mask, lane);
      } else if constexpr (S::window > 1) {
        write_windows<S::window>(Math{}, sums, q.to, out, argmax, patch, tile.channel, bias, q.relu, lane);
      } else if constexpr (S::pool) {
        write_pooled(Math{}, sums[p], q.to, out, argmax, patch, tile.channel, bias, q.relu, lane);
      } else {
        write_plain<S::small>(Math{}, sums[p], q.to, out, patch, tile.parity, tile.channel, bias, q.relu,
                              lane);
      }
    }
  }
}

/// Prefetches what is added to a consumer's sums of a tile, which it reads when these are done.
template <class S>
__device__ __forceinline__ void prefetch_addends(const ActivationsProblem& q, const Tile& tile, int consumer,
                                                 int thread) {
#pragma unroll
  for (int p = 0; p < S::patches; ++p) {
    const Place patch = place_of<S::small>(q.grid, tile.patch + consumer * S::patches + p);
    prefetch_addend<S::small, S::columns>(q.to, static_cast<const typename S::Storage*>(q.addend), patch,
                                          tile.channel, thread);
  }
}

/// A consumer. `tiles`: the shared memory before `extra`.
template <class S>
__device__ void consume(const ActivationsProblem& q, const Places<S>& at, const unsigned char* extra,
                        [[maybe_unused]] unsigned char* tiles, typename S::Storage* out, std::uint8_t* argmax,
                        int consumer, int thread) {
  const int lane = thread % 32;
  const Lane place{thread / 32, lane / 4, lane % 4};
  Ring<S::pixel_stages> pixel_ring;
  Ring<S::filter_stages> filter_ring;
  LaneMoments<S::columns / kQuarter> moments;
  unsigned mask_parity = 0;
  // One consumer starts some stages later, so that while one writes the other still multiplies. A tile has more
  // than these, or the wait would never end.
  constexpr int kLate = S::line || S::slim ? 2 : 3;
  if (consumer == 1) wait(at.filters_full(kLate), 0);
  for (int i = static_cast<int>(blockIdx.x); i < q.tiles; i += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_of<S>(q, i);
    float sums[S::products][S::sums];
    if constexpr (S::summed) prefetch_addends<S>(q, tile, consumer, thread);
    multiply_tile<S>(sums, at, pixel_ring, filter_ring, q.planes * q.slices * S::tap_columns, consumer, lane);
    if (is_marked<S>(q)) {
      wait(at.mask_full(consumer), mask_parity);
      mask_parity ^= 1;
    }
    write_tile<S>(q, tile, sums, extra, out, argmax, consumer, place, moments);
    if (is_marked<S>(q)) {
      arrive(at.mask_empty(consumer));
    }
  }
  if constexpr (S::moments) {
    leave_moments<S::columns>(moments, tiles, consumer, place, q.column_tiles, q.to.channels, q.parts);
  }
}

/// `beside`: the bias in forward, x in backward_input where it is masked. `argmax`: written where the output is pooled,
/// read where a pooling is undone.
template <class S>
__global__ void __launch_bounds__(kThreads, 1)
    hopper_activations(const __grid_constant__ ActivationsProblem q,
                       const __grid_constant__ CUtensorMap pixels,
                       const __grid_constant__ CUtensorMap filters,
                       const typename S::Storage* __restrict__ beside, typename S::Storage* __restrict__ out,
                       std::uint8_t* __restrict__ argmax) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const Places<S> at{first_tile(shared)};
  unsigned char* tiles = shared + (at.base - shared_address(shared));
  unsigned char* extra = tiles + S::extra_at;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) make_barriers(at);
  if constexpr (!S::back) {
    // Channels past the last of the last tile have no bias; they are not written.
    for (int i = thread; i < q.column_tiles * S::columns; i += kThreads) {
      reinterpret_cast<float*>(extra)[i] =
          i < q.to.channels ? mma::widen(typename S::Math{}, beside[i]) : 0.0f;
    }
  }
  __syncthreads();
  const int warp = thread / 32;
  if (thread < static_cast<int>(kWarpgroup)) {
    shrink_registers<S::producer_registers>();
    if (thread == 0) produce<S>(q, at, pixels, filters);
    if constexpr (S::back) {
      if (is_marked<S>(q) && (warp == 1 || warp == 2)) {
        const int consumer = warp - 1;
        read_mask<S>(q, at, beside, argmax,
                     extra + consumer * S::patches * kPatchPixels * S::mask_pixel_bytes, consumer,
                     thread % 32);
      }
    }
  } else {
    grow_registers<S::consumer_registers>();
    consume<S>(q, at, extra, tiles, out, argmax, warp / 4 - 1, thread % static_cast<int>(kWarpgroup));
  }
#else
  __trap();  // this build has no code for sm_90a
#endif
}

/// Tensors of one call, and the tile's choice.
struct ActivationsCall {
  ActivationsProblem problem;  ///< without the tiles
  CUtensorMap pixels;
  CUtensorMap filters;
  const void* beside;
  void* out;
  std::uint8_t* argmax;
  core::Precision precision;
  const Variant* variant;
  core::Stream* stream;
};

/// Whether tiles of `more` patches a warpgroup take less time than tiles of `fewer`, of which a patch costs more.
inline bool large_tiles(const ActivationsProblem& q, int more, int fewer, int processors) {
  constexpr double kSmallCost = 1.15;
  const std::int64_t columns = std::int64_t{q.column_tiles} * q.parities;
  const std::int64_t large = divide_up(divide_up(q.grid.patches(), 2 * more) * columns, processors);
  const std::int64_t small = divide_up(divide_up(q.grid.patches(), 2 * fewer) * columns, processors);
  return static_cast<double>(more * large) <= kSmallCost * static_cast<double>(fewer * small);
}

/// As many blocks as run at once. Those that leave moments have tiles of the same channels only.
template <class S>
int blocks_of(const ActivationsProblem& q, int processors) {
  if constexpr (!S::moments) return std::min(q.tiles, processors);
  return std::min(q.tiles, std::min(processors, kMostSummingBlocks) / q.column_tiles * q.column_tiles);
}

template <class S>
int launch_shape(const ActivationsCall& call, int processors) {
  ActivationsProblem q = call.problem;
  q.tiles = static_cast<int>(divide_up(q.grid.patches(), S::tile_patches)) * q.column_tiles * q.parities;
  const int blocks = blocks_of<S>(q, processors);
  run_kernel(call, {static_cast<unsigned>(blocks), kThreads, S::shared_bytes}, hopper_activations<S>, q,
             call.pixels, call.filters, call.beside, call.out, call.argmax);
  return blocks;
}

template <class Math, Variation kVariation, int kColumnCount>
int launch_size(const ActivationsCall& call) {
  // Six patches of a slim tile leave room for three stages of pixels, eight would not.
  constexpr int kMore = kColumnCount == kSlimColumns ? 3 : 2;
  constexpr int kFewer = kMore - 1;
  const int processors = multiprocessors();
  if constexpr (kVariation.pool && kVariation.tap_columns == 1 && !kVariation.back) {
    return launch_shape<Shape<Math, kVariation, 1, kColumnCount>>(call, processors);
  } else if (large_tiles(call.problem, kMore, kFewer, processors)) {
    return launch_shape<Shape<Math, kVariation, kMore, kColumnCount>>(call, processors);
  } else {
    return launch_shape<Shape<Math, kVariation, kFewer, kColumnCount>>(call, processors);
  }
}

/// Lines and small images have no slim tiles: no network of the program has layers of 64 channels there.
template <class Math, Variation kVariation>
int launch_columns(const ActivationsCall& call) {
  if constexpr (kVariation.tap_columns > 1 && !kVariation.small) {
    if (columns_of(call.problem.to.channels) == kSlimColumns) {
      return launch_size<Math, kVariation, kSlimColumns>(call);
    }
  }
  return launch_size<Math, kVariation, kColumns>(call);
}

/// The problem's column tiles and the filters' boxes are of columns_of() the output's channels where slim tiles may
/// run, of kColumns elsewhere. Moments are taken in 16 bits only. Returns the number of blocks.
template <Variation kVariation>
int launch_activations(const ActivationsCall& call) {
  if constexpr (!kVariation.moments) {
    if (call.precision == core::Precision::tf32) return launch_columns<mma::Tf32, kVariation>(call);
  }
  if (call.precision == core::Precision::fp16) return launch_columns<mma::Fp16, kVariation>(call);
  return launch_columns<mma::Bf16, kVariation>(call);
}

/// backward_input of 3x3 taps; the problem's addend, where it has one, is added.
template <bool kSmall>
void launch_backward_input(const ActivationsCall& call) {
  if (call.problem.addend != nullptr) {
    launch_activations<Variation{.back = true, .small = kSmall, .summed = true}>(call);
  } else {
    launch_activations<Variation{.back = true, .small = kSmall}>(call);
  }
}

/// For lines, by the number of taps. kPool: they are pooled, and the problem's grid is of windows; with kBack the
/// pooling before the convolution is undone.
template <bool kBack, bool kPool = false>
int launch_lines(const ActivationsCall& call, int taps) {
  switch (taps) {
    case 3:
      return launch_activations<Variation{.tap_rows = 3, .tap_columns = 1, .back = kBack, .pool = kPool}>(
          call);
    case 5:
      return launch_activations<Variation{.tap_rows = 5, .tap_columns = 1, .back = kBack, .pool = kPool}>(
          call);
    default:
      return launch_activations<Variation{.tap_rows = 7, .tap_columns = 1, .back = kBack, .pool = kPool}>(
          call);
  }
}

}  // namespace warpscope::ops::conv2d::fused::hopper
