#pragma once
// How conv2d.backward_weights `hopper` divides its sums among multiprocessors: units of filters, taps and channels,
// and splits of the patches over which is summed. A block of the kernels does one unit for one split, and all blocks
// run at once unless there are more units than multiprocessors.
//
//   columns     128 filters, a column of taps (of lines three taps), 128 channels: hopper_backward_weights.cu
//   slim        64 filters, all columns of taps, 64 channels; of upsampled layers: hopper_backward_weights.cu
//   all_taps    64 filters, all taps, 64 channels: hopper_backward_weights_taps.cu
//
// Where a shape may have two of these, the one with less work for a multiprocessor is taken: its products in cycles of
// the tensor cores, and the partial sums' bytes, which are written and read once.

#include <cstddef>
#include <cstdint>

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/planned_processors.h"

namespace warpscope::ops::conv2d::fused::hopper {

enum class Units { columns, slim, all_taps };

/// What a patch is of.
enum class Patches { image, lines, small_images, bundles };

/// In how many splits the patches are, and how many one of them has, but the last.
struct Splits {
  int count;
  int patches;
};

struct WeightsPlan {
  Units of_units;
  Patches of_patches;
  Grid grid;  ///< of dy
  int planes;
  int rows;     ///< of taps, of a unit; of lines its taps
  int columns;  ///< of taps, each in a unit of its own
  int taps;     ///< of a plane
  int filter_tiles;
  int channel_tiles;
  int units;  ///< of a split
  Splits splits;
  std::int64_t bias_at;         ///< in a split's partial sums (hopper_weights_sum.cuh)
  std::int64_t split_elements;  ///< of a split's partial sums
};

/// The plan where is_wide() or is_line().
WeightsPlan plan_weights(const ChainShape& shape);

/// Bytes of the partial sums of all splits.
std::size_t partial_bytes(const WeightsPlan& plan);

}  // namespace warpscope::ops::conv2d::fused::hopper
