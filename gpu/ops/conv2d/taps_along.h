#pragma once
// How the pixels of a convolution's output meet those of its input along one axis:
//
//   tap t of output i reads input   i * stride + t * dilation - padding
//
// Outside of the input lies padding. For host and device.

#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d {

/// Rows or columns.
struct TapsAlong {
  int stride;
  int dilation;
  int padding;

  constexpr int input(int output, int tap) const { return output * stride + tap * dilation - padding; }
  /// The output whose tap `tap` reads `input`, which may lie outside; -1 if it is none.
  constexpr int output(int input, int tap) const {
    const int steps = input - tap * dilation + padding;
    return steps < 0 || steps % stride != 0 ? -1 : steps / stride;
  }
};

constexpr TapsAlong row_taps(const OpShape& s) {
  return {s.stride, s.dilation, padding_of(s, s.kernel_height)};
}
constexpr TapsAlong column_taps(const OpShape& s) {
  return {s.stride, s.dilation, padding_of(s, s.kernel_width)};
}

}  // namespace warpscope::ops::conv2d
