#pragma once
// Convolutions of any shape on the CUDA cores as implicit products whose operands are copied to shared memory ahead
// (cp.async): what host and kernels share. FP32.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/core/both.h"
#include "gpu/ops/activation.h"
#include "gpu/ops/conv2d/axis_taps.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::pipelined {

inline constexpr int kDepth = 8;   ///< summed elements of a stage
inline constexpr int kVector = 4;  ///< floats of a copy
inline constexpr int kMostStride = 4;
inline constexpr int kMostLattices = kMostStride * kMostStride;

struct Lattice {
  AxisTaps down;
  AxisTaps right;
  int pixels = 0;    ///< of all images
  int end_tile = 0;  ///< past the last row of tiles of this lattice
};

/// forward or backward_input: of each pixel of a lattice, for each channel of the result, the sum over its taps and the
/// summed channels.
struct Problem {
  Lattice lattices[kMostLattices];
  int lattice_count = 0;
  int column_tiles = 0;
  int read_rows = 0;  ///< of the images that the taps read
  int read_columns = 0;
  int summed = 0;  ///< channels of these
  int rows = 0;    ///< of the result's images
  int columns = 0;
  int channels = 0;    ///< of the result
  int read_step = 1;   ///< pixels that are read from one pixel of a lattice to the next
  int write_step = 1;  ///< pixels of the result, likewise
  int kernel_width = 1;
  int tap_elements = 0;     ///< of the weights, from one tap to the next
  int filter_elements = 0;  ///< and from one channel of the result to the next
  bool dense = false;       ///< the pixels of the only lattice are those of the result, in order
};

struct Tensors {
  const float* in = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;    ///< none if nullptr
  const float* addend = nullptr;  ///< is added before the derivative; none if nullptr
  const float* beside = nullptr;  ///< what the derivative reads; nullptr: `after` is the activation itself
  float* kept = nullptr;          ///< takes what `after` reads, where somebody else does
  float* out = nullptr;
  Activation after = Activation::none;
};

/// backward_weights: rows are the taps' input channels, columns output channels, the depth is all pixels of y.
struct WeightsProblem {
  AxisTaps down;
  AxisTaps right;
  int read_rows = 0;
  int read_columns = 0;
  int in_channels = 0;
  int out_channels = 0;
  int read_step = 1;
  int row_tiles = 0;
  int column_tiles = 0;
  std::int64_t pixels = 0;
  int per_split = 0;  ///< pixels, a multiple of kDepth
  int splits = 0;
  bool bias = false;

  WARPSCOPE_BOTH int row_count() const { return down.count * right.count * in_channels; }
  WARPSCOPE_BOTH int weights() const { return row_count() * out_channels; }
  WARPSCOPE_BOTH int split_elements() const { return weights() + (bias ? out_channels : 0); }
};

/// Threads below and beside each other, and the elements that each of them has along both.
struct TileShape {
  int threads_down;
  int threads_across;
  int down;
  int across;

  constexpr int threads() const { return threads_down * threads_across; }
  constexpr int rows() const { return threads_down * down; }
  constexpr int columns() const { return threads_across * across; }
};

/// What the kernels are compiled for. The fewer columns, the more is read for a product.
inline constexpr std::array kTiles{TileShape{16, 16, 8, 8}, TileShape{16, 16, 8, 6}, TileShape{32, 8, 8, 8},
                                   TileShape{32, 8, 8, 6},  TileShape{32, 8, 8, 4},  TileShape{64, 4, 4, 6},
                                   TileShape{64, 4, 4, 4},  TileShape{64, 4, 4, 2},  TileShape{16, 8, 4, 8}};

/// Calls f.operator()<tile>() with that of kTiles.
template <int kIndex = 0, class F>
void with_tile(int tile, F f) {
  if constexpr (kIndex < static_cast<int>(kTiles.size())) {
    if (tile == kIndex) return f.template operator()<kIndex>();
    with_tile<kIndex + 1>(tile, f);
  }
}

/// Without tiles.
Problem forward_problem(const OpShape& shape);
Problem backward_input_problem(const OpShape& shape);

/// The index of the tile that is estimated to take the least time, and the problem with its tiles.
int cut(Problem& q);

struct WeightsPlan {
  int tile = 0;
  WeightsProblem problem;
};
WeightsPlan plan_weights(const OpShape& shape);

/// Why the kernels cannot take `shape`, or should not because `fused` takes less time, or "".
std::string refuses(const OpShape& shape);
std::string refuses_weights(const OpShape& shape);

/// Enqueue the kernels.
void launch_products(const OpCall& call, const Problem& problem, int tile, const Tensors& tensors);
/// Into the workspace, or straight to the gradients where there is one split.
void launch_weights(const OpCall& call, const WeightsPlan& plan);

}  // namespace warpscope::ops::conv2d::pipelined
