#pragma once
// Variations of the wide layers' kernel (hopper_activations.cuh): what a tile is, and where its parts lie in shared
// memory.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_epilogue.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

inline constexpr int kConsumerWarps = 8;  ///< of both consumers, a warpgroup each

/// What a variation of the kernel computes.
struct Variation {
  int tap_rows = 3;
  int tap_columns = 3;  ///< 1: of lines
  bool back = false;    ///< backward_input
  /// forward: the largest of windows are written; backward_input of lines: and the gradient before a pooling
  bool pool = false;
  bool small = false;    ///< patches of small images (hopper_maps.h)
  bool moments = false;  ///< of forward's output (hopper_moments.cuh)
  bool summed = false;   ///< backward_input: another gradient is added (hopper_addend.cuh)
};

/// The kernel of one variation: kPatchCount patches of a warpgroup, tiles of kColumnCount channels.
template <class Arithmetic, Variation kVariation, int kPatchCount, int kColumnCount>
struct Shape {
  using Math = Arithmetic;
  using Storage = typename Math::Storage;
  static constexpr int slice = kRowBytes / static_cast<int>(sizeof(Storage));  ///< channels
  static constexpr int taps = kVariation.tap_rows;                             ///< of a column
  static constexpr int tap_columns = kVariation.tap_columns;
  static constexpr bool line = tap_columns == 1;  ///< of one dimension
  static constexpr bool back = kVariation.back;
  static constexpr bool turned = back && sizeof(Storage) == 2;  ///< filters
  static constexpr bool pool = kVariation.pool && !back;
  static constexpr bool unpool = kVariation.pool && back;
  static constexpr bool moments = kVariation.moments;
  static constexpr bool summed = kVariation.summed;
  static constexpr bool small = kVariation.small;
  static constexpr int window = line && pool ? kLineWindow : 1;  ///< positions that become one
  static constexpr int patches = kPatchCount;                    ///< of a warpgroup
  static constexpr int products = patches * window;              ///< of 64 pixels, of a warpgroup and step
  static constexpr int tile_patches = 2 * patches;
  static constexpr int columns = kColumnCount;           ///< of a tile
  static constexpr bool slim = columns == kSlimColumns;  ///< hopper_maps.h
  static constexpr int sums = columns / 2;               ///< of a thread, of 64 pixels
  static constexpr int mask_bits = unpool ? 2 : 1;  ///< of a pixel's channel: place in its window, or mask
  static constexpr int mask_pixel_bytes = columns / 8 * mask_bits;
  // Together no more than the 168 of three warpgroups; who reads masks needs more than who only copies.
  static constexpr int producer_registers = back ? 88 : 40;
  static constexpr int consumer_registers = back ? 208 : 232;
  static constexpr int pixel_stages =
      taps > 3 || small || window > 1 ? 2 : 3;  // a stage serves as many stages of filters as it has taps
  static constexpr int filter_stages = slim ? 5 : 6;
  static constexpr unsigned patch_bytes = kPatchBytes<taps, small, window>;
  /// From the pixels of one product to those of the next: of windows the next position of each.
  static constexpr unsigned product_bytes = window > 1 ? kPeriodBytes : patch_bytes;
  static_assert(window == 1 || patches == 1);
  static_assert(line || !unpool);
  static_assert(!summed || (back && !unpool));
  static constexpr unsigned pixel_bytes = tile_patches * patch_bytes;
  static constexpr unsigned filter_bytes = columns * kRowBytes;
  static constexpr unsigned filters_at = pixel_stages * pixel_bytes;
  static constexpr unsigned extra_at = filters_at + filter_stages * filter_bytes;
  static constexpr unsigned extra_bytes =
      4096 * mask_bits;  ///< bias of up to 1024 channels, or mask of all pixels
  static_assert(tile_patches * kPatchPixels * mask_pixel_bytes <= static_cast<int>(extra_bytes));
  static constexpr unsigned barriers_at = extra_at + extra_bytes;
  static constexpr int barriers = 2 * (pixel_stages + filter_stages) + 4;
  static constexpr unsigned shared_bytes = barriers_at + barriers * 8 + kAlignSlack;
};

struct ActivationsProblem {
  Grid grid;
  int tiles;
  int column_tiles;
  int parities;  ///< of the output
  int planes;    ///< of the input
  int slices;    ///< of the input's channels
  bool relu;
  bool masked;
  Layout to;
  int line_shift = 0;            ///< of lines: how far the first tap lies before the position
  float* parts = nullptr;        ///< of moments (batch_norm/partial_moments.h)
  const void* addend = nullptr;  ///< of summed gradients: laid out as the output
};

/// Whether a mask of the output is read, or places in windows.
template <class S>
__device__ __forceinline__ bool is_marked(const ActivationsProblem& q) {
  return S::unpool || (S::back && q.masked);
}

struct Tile {
  int patch;
  int parity;
  int channel;
};

template <class S>
__device__ __forceinline__ Tile tile_of(const ActivationsProblem& q, int i) {
  const int rest = i / q.column_tiles;
  return {rest / q.parities * S::tile_patches, rest % q.parities, (i % q.column_tiles) * S::columns};
}

/// Addresses in shared memory.
template <class S>
struct Places {
  SharedAddress base;

  __device__ SharedAddress pixels(int stage) const {
    return base + static_cast<unsigned>(stage) * S::pixel_bytes;
  }
  __device__ SharedAddress filters(int stage) const {
    return base + S::filters_at + static_cast<unsigned>(stage) * S::filter_bytes;
  }
  __device__ SharedAddress barrier(int i) const { return barrier_at(base + S::barriers_at, i); }
  __device__ SharedAddress pixels_full(int stage) const { return barrier(stage); }
  __device__ SharedAddress pixels_empty(int stage) const { return barrier(S::pixel_stages + stage); }
  __device__ SharedAddress filters_full(int stage) const { return barrier(2 * S::pixel_stages + stage); }
  __device__ SharedAddress filters_empty(int stage) const {
    return barrier(2 * S::pixel_stages + S::filter_stages + stage);
  }
  /// The barrier of a consumer.
  __device__ SharedAddress mask_full(int consumer) const {
    return barrier(2 * (S::pixel_stages + S::filter_stages) + consumer);
  }
  __device__ SharedAddress mask_empty(int consumer) const {
    return barrier(2 * (S::pixel_stages + S::filter_stages) + 2 + consumer);
  }
};

template <class S>
__device__ void make_barriers(const Places<S>& at) {
  for (int i = 0; i < S::pixel_stages; ++i) {
    make_barrier(at.pixels_full(i), 1);
    make_barrier(at.pixels_empty(i), kConsumerWarps);
  }
  for (int i = 0; i < S::filter_stages; ++i) {
    make_barrier(at.filters_full(i), 1);
    make_barrier(at.filters_empty(i), kConsumerWarps);
  }
  for (int i = 0; i < 2; ++i) {
    make_barrier(at.mask_full(i), 32);
    make_barrier(at.mask_empty(i), kConsumerWarps / 2 * 32);
  }
  publish_barriers();
}

}  // namespace warpscope::ops::conv2d::fused::hopper
