#pragma once
// Which kernel makes a block's weights gradient, and how it is cut into tiles and parts. Functions only of
// shape and precision, so that workspace and launch agree whatever the device; the numbers were chosen for
// 132 multiprocessors.

#include <cstdint>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::general {

/// Kernels, by tile and by how they read x and the gradient.
enum class WeightsKernel : std::uint8_t {
  wide,     ///< 128x256, both 16 bytes at a time; on tensor cores only
  large,    ///< 128x128, both 16 bytes at a time
  medium,   ///< 128x64, both 16 bytes at a time; in FP32 only
  small,    ///< 64x64, both 16 bytes at a time
  tall,     ///< 128x32, x 16 bytes at a time, the gradient by elements
  scalars,  ///< 64x64, both by elements
};

/// Rows of the result are the channels of x, columns the taps and channels of the gradient; for
/// WeightsWay::pooled rows are filters, columns the taps and channels of x.
struct WeightsPlan {
  WeightsKernel kernel{};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t splits = 1;  ///< parts of the pixels; each writes its own partial result, (rows, columns)
  std::int64_t split_pixels = 0;  ///< pixels of a part, the last of which may be shorter

  /// From one part's result to the next: a multiple of four, for 16-byte writes.
  std::int64_t split_elements() const { return (rows * columns + 3) / 4 * 4; }
};

WeightsPlan plan_weights(const ChainShape& shape, core::Precision precision);

/// Which product makes the weights gradient.
enum class WeightsWay : std::uint8_t {
  conv2d,  ///< that of conv2d's variant, from the gradient before pooling
  window,  ///< x by the windows of the gradient: after upsampling, or on tensor cores with channels enough
  pooled,  ///< the pooled gradient by the windows of x: on tensor cores with few channels
};

WeightsWay weights_way(const ChainShape& shape, core::Precision precision);

}  // namespace warpscope::ops::conv2d::fused::general
