#pragma once
// Convolutions of few channels on tensor cores (mma.sync): each pixel is read once for all taps. What host and kernels
// share.
//
// A tile is up to 256 pixels of the result: rows and columns of an image, or whole images where these are small. The
// pixels that its taps read, a patch, lie in shared memory, and beside them all weights. With channels in chunks of
// eight, 16 bytes, the sum over taps and channels is one over the pairs (tap, chunk), two of them a step of the
// product:
//
//   z[pixel, filter] = bias[filter] + sum over (tap, chunk) and its channels of
//                      patch[pixel + tap, chunk] * w[filter, tap, chunk]
//
// so that 24 channels and 9 taps are 14 steps, of which half a one is zeros. backward_input is the same with
// the taps in reverse order and the channels of both sides exchanged.
//
// FP16 and BF16, compute capability 8.0; stride 1, any dilation; channels in multiples of 8, at most 64, and 1,600
// pairs of input and output channels; patches and weights in 96 KiB of shared memory; operands aligned to 16 bytes.
// Results are deterministic. Where x is not finite, so are the same sums and perhaps others: what stands behind the
// last pair, or outside the image, is multiplied by zero. Source: patches.cuh.

#include <cstdint>
#include <string>

#include "gpu/core/types.h"
#include "gpu/ops/activation.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::patches {

inline constexpr int kChunkChannels = 8;
inline constexpr int kChunkBytes = 16;
inline constexpr int kMatrixBytes = 8 * kChunkBytes;  ///< of the weights: eight filters, a chunk each
inline constexpr int kTilePixels = 256;
inline constexpr int kMostChannels = 64;
inline constexpr int kSharedBytes = 96 << 10;

/// One call as the kernels take it. `chunks` are those of a pixel that is read; rows, columns and filters are those of
/// the result.
struct Problem {
  int batch;
  int height;  ///< of what is read
  int width;
  int chunks;
  int rows;
  int columns;
  int filters;
  int kernel_height;
  int kernel_width;
  int dilation;
  int above;    ///< zeros before the first row that is read
  int before;   ///< and before the first column
  bool turned;  ///< backward_input: w has the filters of this product innermost, taps in reverse order
  int images;   ///< of a tile
  int tile_rows;
  int tile_columns;
  int patch_rows;  ///< of an image
  int patch_columns;
  int across;  ///< tiles of a row of the result
  int down;    ///< and of a column
  int tiles;   ///< of all images
  int stages;  ///< patches in shared memory; with two, one is copied while the other is multiplied

  constexpr int taps() const { return kernel_height * kernel_width; }
  constexpr int pairs() const { return taps() * chunks; }
  constexpr int steps() const { return (pairs() + 1) / 2; }
  constexpr int tile_pixels() const { return images * tile_rows * tile_columns; }
  constexpr int patch_pixels() const { return images * patch_rows * patch_columns; }
  /// Chunks from a pixel of a patch to the next: odd, so that eight neighbours lie in different banks.
  constexpr int pitch() const { return chunks | 1; }
  constexpr int patch_bytes() const { return patch_pixels() * pitch() * kChunkBytes; }
};

/// Fragments of eight filters that a block has: as many as there are, in one of the numbers with a kernel.
constexpr int fragments_of(int filters) {
  const int fragments = filters / kChunkChannels;
  return fragments > 4 ? (fragments + 1) / 2 * 2 : fragments;
}

/// Tiles of 16 pixels that a warp has: as many as its registers hold the sums of.
constexpr int warp_tiles_of(int fragments) {
  return fragments > 4 ? 2 : 4;
}

/// How the warps of a block share a tile.
template <int kFragments>
struct Warps {
  static constexpr int kTiles = warp_tiles_of(kFragments);
  static constexpr int kPixels = 16 * kTiles;
  static constexpr int kCount = kTilePixels / kPixels;
  static constexpr int kThreads = 32 * kCount;
  static constexpr int kBlocks = 512 / kThreads;  ///< of a multiprocessor: 128 registers a thread
};

/// Where shared memory has its parts, in bytes; the weights begin at 0: (pair, fragment), matrices.
struct Layout {
  int bias;     ///< of all filters, FP32
  int offsets;  ///< of the pairs' chunks from a pixel's first tap on, in bytes
  int places;   ///< of the tile's pixels (place_of())
  int patches;
  int bytes;
};
constexpr Layout layout_of(const Problem& q) {
  const int fragments = fragments_of(q.filters);
  const int bias = 2 * q.steps() * fragments * kMatrixBytes;
  const int offsets = bias + fragments * kChunkChannels * 4;
  const int places = offsets + 2 * q.steps() * 4;
  const int patches = (places + kTilePixels * 4 + 127) / 128 * 128;
  return {bias, offsets, places, patches, patches + q.stages * q.patch_bytes()};
}

/// Blocks on a multiprocessor, as registers and shared memory allow (of compute capability 9.0; elsewhere fewer).
constexpr int resident_blocks(const Problem& q) {
  constexpr int kMultiprocessorBytes = 228 << 10;
  constexpr int kOverhead = 1 << 10;
  const int most = fragments_of(q.filters) > 4 ? Warps<8>::kBlocks : Warps<1>::kBlocks;
  const int fit = kMultiprocessorBytes / (layout_of(q).bytes + kOverhead);
  return fit < most ? fit : most;
}

/// Pixel i of a tile: image, row and column in the tile, eight bits each; -1: the tile has no such pixel.
constexpr int place_of(const Problem& q, int i) {
  if (i >= q.tile_pixels()) return -1;
  const int line = i / q.tile_columns;
  const int image = line / q.tile_rows;
  return image << 16 | (line - image * q.tile_rows) << 8 | (i - line * q.tile_columns);
}

/// Where the first tap of a place's pixel lies in a patch, in bytes.
constexpr int patch_offset(const Problem& q, int place) {
  const int row = (place >> 16) * q.patch_rows + (place >> 8 & 0xff);
  return (row * q.patch_columns + (place & 0xff)) * q.pitch() * kChunkBytes;
}

/// Where pair `pair` lies from there on, in bytes. Behind the last pair: anywhere, the weights are zero.
constexpr int pair_offset(const Problem& q, int pair) {
  if (pair >= q.pairs()) return 0;
  const int tap = pair / q.chunks;
  const int row = tap / q.kernel_width;
  const int pixel = (row * q.patch_columns + tap - row * q.kernel_width) * q.dilation;
  return (pixel * q.pitch() + pair - tap * q.chunks) * kChunkBytes;
}

/// Where w has line `row` of the matrix (pair, fragment), in elements; -1: nowhere, it is zero.
constexpr int weight_element(const Problem& q, int pair, int fragment, int row) {
  if (pair >= q.pairs()) return -1;
  const int tap = pair / q.chunks;
  const int chunk = pair - tap * q.chunks;
  if (q.turned) {
    if (kChunkChannels * fragment >= q.filters) return -1;
    return ((kChunkChannels * chunk + row) * q.taps() + q.taps() - 1 - tap) * q.filters +
           kChunkChannels * fragment;
  }
  const int filter = kChunkChannels * fragment + row;
  if (filter >= q.filters) return -1;
  return (filter * q.taps() + tap) * kChunkChannels * q.chunks + kChunkChannels * chunk;
}

// ---- backward_weights (patches_weights.cu): a product over the pixels ----

/// How many tiles of two pairs a warp has, with all filters: as many as its registers hold the sums of.
constexpr int warp_pair_tiles_of(int fragments) {
  return fragments > 2 ? 18 / fragments : 8;
}

/// How the tiles of pairs are dealt out. Behind the last pair stands one of ones, whose sums are the bias's gradient,
/// and, where the number is odd then, one of zeros.
struct PairTiles {
  int slabs;    ///< of blocks that take the same pixels
  int of_slab;  ///< tiles
  int sharing;  ///< warps that have different tiles, a power of two; the others take other pixels
  int of_warp;  ///< tiles
};
inline constexpr int kWeightsWarps = 8;
constexpr PairTiles pair_tiles_of(const Problem& q) {
  const int count = (q.pairs() + 2) / 2;
  const int of_warp = warp_pair_tiles_of(fragments_of(q.filters));
  const int slabs = (count + kWeightsWarps * of_warp - 1) / (kWeightsWarps * of_warp);
  const int of_slab = (count + slabs - 1) / slabs;
  int sharing = 1;
  while (sharing * of_warp < of_slab) sharing *= 2;
  return {slabs, of_slab, sharing, (of_slab + sharing - 1) / sharing};
}

/// Chunks from a pixel of dy in shared memory to the next, odd.
constexpr int gradient_pitch(const Problem& q) {
  return fragments_of(q.filters) | 1;
}

/// Where shared memory has its parts, in bytes; at 0 a chunk of ones, then one of zeros.
struct WeightsLayout {
  int offsets;   ///< of the tile's pixels in a patch, in bytes
  int places;    ///< of the tile's pixels
  int stages;    ///< two, of a patch and a tile of dy; at the end sums that warps add up
  int gradient;  ///< in a stage
  int stage_bytes;
  int bytes;
};
constexpr WeightsLayout weights_layout(const Problem& q) {
  const int offsets = 128;
  const int places = offsets + kTilePixels * 4;
  const int stages = places + kTilePixels * 4;
  const int gradient = q.patch_bytes();
  const int pixels = (q.tile_pixels() + 15) / 16 * 16;
  const int stage = gradient + pixels * gradient_pitch(q) * kChunkBytes;
  const PairTiles tiles = pair_tiles_of(q);
  const int fragments = fragments_of(q.filters);
  const int sums =
      tiles.sharing < kWeightsWarps ? tiles.sharing * warp_pair_tiles_of(fragments) * fragments * 512 : 0;
  return {offsets, places, stages, gradient, stage, stages + (2 * stage > sums ? 2 * stage : sums)};
}

/// Elements of the partial sums of a block: dw, then db.
constexpr int split_elements(const Problem& q) {
  return q.pairs() * kChunkChannels * q.filters + q.filters;
}

/// Blocks that share the pixels; the same on every device, so that workspace and results are.
int splits_of(const Problem& q);

// ---- calls ----

/// What a call reads and writes, in the terms of both ops; nullptr: there is none.
struct Tensors {
  const void* input;
  const void* weights;
  const void* bias;
  const void* mask;    ///< the result is zero where this is not positive
  const void* beside;  ///< what the derivative of `after` reads
  const void* addend;  ///< is added before that derivative; then there is no mask
  void* kept;          ///< takes what the activation `after` reads, where somebody else does
  void* out;
  bool relu;
  /// Another than ReLU, or of backward_input its derivative; behind an addition ReLU's too.
  Activation after;
};

/// Without bounds: refuses_*() says "" to the shape.
Problem forward_problem(const OpShape& shape);
Problem backward_input_problem(const OpShape& shape);
Problem backward_weights_problem(const OpShape& shape);

/// Why the kernels cannot take `shape`, or should not because others take less time, or "".
std::string refuses_forward(const OpShape& shape);
std::string refuses_backward_input(const OpShape& shape);
std::string refuses_backward_weights(const OpShape& shape);

/// Enqueues the kernel: patches_<precision>.cu.
void launch_bf16(const OpCall& call, const Problem& problem, const Tensors& tensors);
void launch_fp16(const OpCall& call, const Problem& problem, const Tensors& tensors);

/// patches_weights.cu, with the sum of the splits in call.workspace.
void launch_weights(const OpCall& call, const Problem& problem);

}  // namespace warpscope::ops::conv2d::patches
