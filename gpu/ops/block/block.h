#pragma once
// A block: what the layers around one convolution compute, in one op, so that nothing between them is stored.
//
//   u = upsample ? each pixel of x four times (nearest, 2x2) : x
//   z = conv2d(u, w) + b                           stride 1, "same" padding, odd kernels
//   r = relu ? max(z, 0) : z                       a NaN stays
//   y = pool ? largest of each 2x2 window of r : r
//
//   forward           x, w, b -> y, argmax
//   backward_weights  x, dy, argmax -> dw, db
//   backward_input    dy, argmax, w, x -> dx       masked: zero where x <= 0
//
// dy is the gradient of y, already zero where the block's ReLU was not active: the backward_input of the block after it
// does that (`masked`: its x is what a ReLU gave), where x is at hand. So backward passes need no y.
//
// Shapes: x (N,H,W,C), w (K,R,S,C), b (K); with U = 2H x 2W if upsample, else H x W: y (N,U,K), or (N,U/2,K) rounded down
// if pool. argmax, only if pool: 2 bits an element of y, element i in bits 2 (i % 4) of byte i / 4; the code is
// 2 * row + column of the largest in its window, the first in that order if several are equal, a NaN before all.
// Gradients of rows and columns outside any window are zero.
// OpShape: batch, height, width, in_channels of x, out_channels, kernel_height, kernel_width, upsample, relu, pool, masked.
//
// Of an upsampled input each output pixel meets only 2x2 different input pixels: z at parity (p, q) is a 2x2 convolution of x
// with the sums of the rows and columns of w that meet the same pixel; 2.25 times fewer products for 3x3 kernels.
// Source: W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?" (2016), for the parities.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::block {

enum ForwardOperands : int { kForwardInput, kForwardWeights, kForwardBias, kForwardOutput, kForwardArgmax };
enum BackwardWeightsOperands : int {
  kWeightsInput,
  kWeightsOutputGradient,
  kWeightsArgmax,
  kWeightsGradient,
  kWeightsBiasGradient
};
enum BackwardInputOperands : int {
  kInputOutputGradient,
  kInputArgmax,
  kInputWeights,
  kInputInput,
  kInputInputGradient
};

std::vector<Variant> variants();

}  // namespace warpscope::ops::block
