#pragma once
// The gradient of the weights as one product over the pixels of y (hopper_general_weights.cuh): what host and kernels
// share.
//
// The sums of a block are those of so many units by so many columns. A unit is 64 rows, channels of one tensor, the
// columns are channels of the other; either may be the one that the taps shift, x:
//
//   taps in rows      rows are the channels of x at each tap, in slices of 64, or of 32 where these leave fewer rows
//                     empty: two of them are a unit, whatever tap they are of; columns are channels of dy
//   taps in columns   rows are channels of dy, columns are channels of x; a block has one tap
//
// Blocks are (tile of columns, group of units, tap) and splits of the pixels.

#include <cstddef>
#include <cstdint>

#include <cuda.h>

#include "gpu/ops/conv2d/hopper_general/hopper_general.h"

namespace warpscope::ops::conv2d::hopper_general {

inline constexpr int kStagePixels = 64;
inline constexpr int kUnitRows = kProductRows;
inline constexpr int kSliceChannels = 64;      ///< 128 bytes of them
inline constexpr int kHalfSliceChannels = 32;  ///< with the swizzle of 64 bytes

/// What a block of the product does. Two warpgroups have `products` units each.
struct WeightsTile {
  bool taps_in_rows = true;
  int slice = kSliceChannels;  ///< of rows: this, or half of it if taps are in rows
  int products = 1;
  int columns = kTileColumns.back();  ///< one of kTileColumns

  constexpr int units() const { return kConsumers * products; }
};

/// One call as the kernels take it.
struct WeightsProblem {
  int rows = 0;  ///< of y's image
  int columns = 0;
  AxisTaps down;  ///< what the taps read of x
  AxisTaps right;
  int read_step = 1;  ///< pixels of x from one pixel of y to the next
  int stages = 0;     ///< of all pixels
  int per_split = 0;  ///< of these, but of the last split
  int row_channels = 0;
  int column_channels = 0;
  bool taps_in_rows = true;
  int slice = 0;       ///< of rows, in channels
  int slices = 0;      ///< of row_channels
  int all_slices = 0;  ///< with all taps that are in rows
  int units = 0;
  int groups = 0;  ///< of units, a block each
  int column_tiles = 0;
  int tile_units = 0;  ///< WeightsTile
  int tile_columns = 0;
  int blocks = 0;  ///< of a split
  int splits = 0;
  bool bias = false;
  std::int64_t bias_at = 0;         ///< in the partial sums of a split
  std::int64_t split_elements = 0;  ///< from one split's partial sums to the next one's

  int taps() const { return down.count * right.count; }
};

struct WeightsPlan {
  WeightsTile tile;
  WeightsProblem problem;
};

/// The tensor maps of 64 pixels and a slice of channels.
struct WeightsMaps {
  CUtensorMap input;
  CUtensorMap gradient;
};

/// The plan that is estimated to take the least time on kPlannedProcessors, of so many stages of all pixels.
/// `cycles_of_stage`: estimated cycles of a stage of a block.
WeightsPlan plan_weights(const OpShape& shape, int stages,
                         double (*cycles_of_stage)(const WeightsTile& tile));

/// In 16 bits. Throws core::Error.
WeightsMaps map_backward_weights(const OpCall& call, const WeightsTile& tile);

/// Bytes of the partial sums of all splits.
std::size_t partial_bytes(const WeightsProblem& problem);

/// Enqueues the product on the call's stream; hopper_general_weights_<precision>.cu.
void launch_weights_bf16(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps);
void launch_weights_fp16(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps);

/// Adds the partial sums in the order of the splits to dw and, if it is wanted, db.
void add_weight_splits(const OpCall& call, const WeightsProblem& problem);

}  // namespace warpscope::ops::conv2d::hopper_general
