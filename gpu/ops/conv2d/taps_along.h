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
  /// The first output whose tap reads no input before the first.
  constexpr int first_output(int tap) const {
    const int from = input(0, tap);
    return from >= 0 ? 0 : (stride - 1 - from) / stride;
  }
  /// Past the last of `outputs` outputs whose tap reads one of `inputs` inputs.
  constexpr int end_output(int tap, int inputs, int outputs) const {
    const int from = input(0, tap);
    const int end = from >= inputs ? 0 : (inputs - 1 - from) / stride + 1;
    return end < outputs ? end : outputs;
  }
};

constexpr TapsAlong row_taps(const OpShape& s) {
  return {s.stride, s.dilation, padding_of(s, s.kernel_height)};
}
constexpr TapsAlong column_taps(const OpShape& s) {
  return {s.stride, s.dilation, padding_of(s, s.kernel_width)};
}

}  // namespace warpscope::ops::conv2d
