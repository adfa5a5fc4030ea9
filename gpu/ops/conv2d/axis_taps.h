#pragma once
// What the taps of a convolution read along one axis.
//
// The pixels of a result that the same taps make are a lattice: all of them in forward; in backward_input, where a
// stride of t leaves out taps, those of one remainder of row and column by t, so that none of their products is with a
// zero between the steps. A lattice reads its taps at
//
//   lower + i * step + m * shift           i: row (or column) of the lattice, m: its m-th tap along the axis
//
// in pixels of the tensor that is read; step is the stride in forward, 1 in backward_input.

#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d {

struct AxisTaps {
  int extent = 0;    ///< rows or columns of the lattice
  int first = 0;     ///< of the result, its first one
  int lower = 0;     ///< what its first tap reads there
  int count = 0;     ///< of taps
  int shift = 0;     ///< from one tap's place to the next one's
  int tap = 0;       ///< the first in the kernel
  int tap_step = 1;  ///< to the next; taps are listed by the place that they read
};

/// All `outputs` rows or columns of forward's result.
AxisTaps forward_axis(const OpShape& shape, int outputs, int kernel);

/// Those of backward_input's `inputs` rows or columns at `remainder`, `remainder` + stride, ...
AxisTaps backward_axis(const OpShape& shape, int inputs, int kernel, int remainder);

}  // namespace warpscope::ops::conv2d
