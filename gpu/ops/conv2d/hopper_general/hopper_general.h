#pragma once
// Convolutions of any shape on Hopper as one implicit product (hopper_general.cuh): what host and kernels share.
//
// The pixels of the result are lattices (axis_taps.h); of the taps, what lies outside is zero.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <cuda.h>

#include "gpu/core/types.h"
#include "gpu/ops/activation.h"
#include "gpu/ops/conv2d/axis_taps.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::hopper_general {

inline constexpr int kMostStride = 2;
inline constexpr int kMostLattices = kMostStride * kMostStride;
using fused::hopper::kRowBytes;          // of a stage: a slice of a pixel's or a filter's channels
inline constexpr int kProductRows = 64;  ///< of one instruction
inline constexpr int kConsumers = 2;     ///< warpgroups that multiply, each its own rows of a tile
inline constexpr int kMostProducts = 2;  ///< of a warpgroup, one below the other
inline constexpr std::array kTileColumns{32, 48, 64, 80, 96, 112, 128, 160, 192};

struct Lattice {
  AxisTaps down;
  AxisTaps right;
  int pixels = 0;    ///< of all images
  int end_tile = 0;  ///< past the last tile of this lattice
};

/// One call as the kernels take it. `rows x columns` are those of the result's image.
struct Problem {
  Lattice lattices[kMostLattices];
  int lattice_count = 0;
  int tiles = 0;
  int column_tiles = 0;
  int rows = 0;
  int columns = 0;
  int channels = 0;    ///< of the result
  int read_step = 1;   ///< pixels that are read from one pixel of a lattice to the next
  int write_step = 1;  ///< pixels of the result, likewise
  int kernel_width = 1;
  int full_slices = 0;  ///< of the summed channels, 128 bytes each
  int tail_steps = 0;   ///< products over what is left of them, each of 32 bytes: 0 to 3
  bool relu = false;
  /// Another than ReLU, or of backward_input its derivative; behind an addition ReLU's too.
  Activation after = Activation::none;
};

/// The tensor maps: pixels of each lattice, filters.
struct Maps {
  CUtensorMap pixels[kMostLattices];
  CUtensorMap filters;
};

/// A tile: `products` times 64 rows for each warpgroup, so many columns.
struct TileSize {
  int products = 1;
  int columns = kTileColumns.back();  ///< one of kTileColumns

  constexpr int rows() const { return kConsumers * products * kProductRows; }
};

/// What a call reads and writes, in the terms of both ops.
struct Tensors {
  const void* in = nullptr;       ///< what the taps read: (images, height, width, channels)
  const void* weights = nullptr;  ///< a line of summed channels for each filter and tap
  const void* bias = nullptr;     ///< none if nullptr
  const void* mask = nullptr;     ///< the result is zero where this is not positive; none if nullptr
  void* kept = nullptr;           ///< takes what Problem::after reads, where somebody else does
  const void* beside = nullptr;   ///< what the derivative of Problem::after reads, of backward_input
  const void* addend = nullptr;   ///< is added before that derivative; none if nullptr; then there is no mask
  void* out = nullptr;
  float* parts = nullptr;  ///< moments of `out` (batch_norm/partial_moments.h); only by launch_normed_*()
};

/// forward; backward_input. Without tiles.
Problem forward_problem(const OpShape& shape, core::Precision precision);
Problem backward_input_problem(const OpShape& shape, core::Precision precision);

/// The tile that is estimated to take the least time on so many multiprocessors.
TileSize choose_tile(const Problem& q, core::Precision precision, int multiprocessors);

/// Sets the numbers of tiles.
void cut(Problem& q, const TileSize& tile);

/// Blocks that leave moments of the same channels, each a row of them: so many that there are no more blocks than
/// multiprocessors, but one at least. A block has only tiles of the same channels.
int moment_rows(const Problem& q, int multiprocessors);

/// Bytes of the moments that forward leaves at most.
std::size_t moments_workspace(const OpShape& shape);

/// The tensor maps of `call`, whose operands must be aligned to 16 bytes. Throws core::Error.
Maps map_forward(const OpCall& call, const Problem& q, const Tensors& tensors, const TileSize& tile);
Maps map_backward_input(const OpCall& call, const Problem& q, const Tensors& tensors, const TileSize& tile);

/// How far the last pixel that the first tap of a lattice reads lies past the last of `extent` of the tensor.
int upper_corner(const AxisTaps& axis, int step, int extent);

// Estimates, in cycles of a multiprocessor: elements of 16 bits that it multiplies, bytes that it gets from the L2
// cache, and what a tile costs beside.
inline constexpr double kProductsPerCycle = 2048.0;
inline constexpr double kBytesPerCycle = 40.0;
inline constexpr double kTileOverhead = 1500.0;

/// What the variants of all three ops have in common.
void limit(Variant& variant);

/// Whether the ops of 16 bits, forward and backward_input leave the shape to `hopper`, which has kernels for it.
bool leaves_to_hopper(const OpShape& shape);

/// Why the kernels cannot take `shape`, or should not because `hopper` takes less time, or "".
std::string refuses_forward(const OpShape& shape);
std::string refuses_backward_input(const OpShape& shape);
std::string refuses_backward_weights(const OpShape& shape);
/// The part of the last one that kernels of every kind ask for: sizes, stride, kernel, channels.
std::string refuses_weights_size(const OpShape& shape);

/// Enqueues the kernel on the call's stream; in its precision: hopper_general_<precision>.cu.
void launch_bf16(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
                 const TileSize& tile);
void launch_fp16(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
                 const TileSize& tile);
void launch_tf32(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
                 const TileSize& tile);

/// The same for forward before a batch norm, which also leaves the moments of the output in Tensors::parts.
void launch_normed_bf16(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
                        const TileSize& tile);
void launch_normed_fp16(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
                        const TileSize& tile);

}  // namespace warpscope::ops::conv2d::hopper_general
