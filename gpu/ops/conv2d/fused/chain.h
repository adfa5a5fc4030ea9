#pragma once
// A convolution with what lies around it in one call, so that nothing between them is stored.
//
//   u = each pixel of x four times (nearest, 2x2)      where upsample2d is covered, else x
//   z = conv2d(u, w) + b                               stride 1, "same" padding, odd kernels; b where bias is covered
//   r = max(z, 0)                                      where relu is covered, else z; a NaN stays
//   y = largest of each 2x2 window of r                where maxpool2d is covered, else r
//
//   forward           x, w, b -> y, argmax
//   backward_weights  x, dy, argmax -> dw, db
//   backward_input    dy, argmax, w, x -> dx           zero where x <= 0, if the ReLU that x came from is
//   covered
//
// Shapes: x (N,H,W,C), w (K,R,S,C), b (K); with U = 2H x 2W after upsampling, else H x W: y (N,U,K), or
// (N,U/2,K) rounded down after pooling. argmax, only after pooling: 2 bits an element of y, element i in
// bits 2 (i % 4) of byte i / 4; the code is 2 * row + column of the largest in its window, the first in that
// order if several are equal, a NaN before all. Gradients of rows and columns outside any window are zero.
//
// Each output pixel meets only 2x2 different pixels of an upsampled input: z at parity (p, q) is a 2x2
// convolution of x with the sums of the rows and columns of w that meet the same pixel; 2.25 times fewer
// products for 3x3 kernels.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the
// parities.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::fused {

/// The shape as the kernels take it: that of x, before upsampling, and which ops are covered.
struct ChainShape {
  std::int64_t batch = 1;
  int height = 1;
  int width = 1;
  int in_channels = 1;
  int out_channels = 1;
  int kernel_height = 1;
  int kernel_width = 1;
  bool upsample = false;  ///< the input is upsampled before the convolution
  bool relu = false;      ///< a ReLU follows it
  bool pool = false;      ///< max pooling ends it
  bool masked = false;    ///< backward_input: the input is what a ReLU gave
  bool bias = true;       ///< forward adds one, backward_weights makes its gradient
  bool valid = false;     ///< no padding: convolutions of one dimension, only on Hopper (hopper_lines.h)
};

/// From the shape of the convolution and the ops that its call covers.
ChainShape shape_of(const OpShape& shape);

/// A call as the kernels take it.
struct ChainCall {
  const Variant* variant = nullptr;
  ChainShape shape;
  core::Precision precision = core::Precision::fp32;
  ByName<void*> operands;
  void* workspace = nullptr;
  core::Stream* stream = nullptr;

  template <class T>
  T* operand(Name name) const {
    return static_cast<T*>(operands[name]);
  }
};

ChainCall call_of(const OpCall& call);

/// The variant `name` of conv2d.forward, backward_weights or backward_input without its functions: the chain
/// that it covers, the format of argmax, and what else all of these have in common. The three read and write
/// argmax alike.
Variant chain_variant(Op op, const char* name, const char* summary);

}  // namespace warpscope::ops::conv2d::fused
