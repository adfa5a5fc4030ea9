#pragma once
// 2-D convolution, stride 1, "same" padding p = (R-1)/2, q = (S-1)/2, odd R and S. As in deep learning this
// is a cross-correlation.
//
//   forward           y[n,h,w,k]    = sum_{r,s,c} x[n, h+r-p, w+s-q, c] * w[k,r,s,c]
//   backward_input    dx[n,h,w,c]   = sum_{r,s,k} dy[n, h-r+p, w-s+q, k] * w[k,r,s,c]
//   backward_weights  dw[k,r,s,c]   = sum_{n,h,w} x[n, h+r-p, w+s-q, c] * dy[n,h,w,k]
//   backward_bias     db[k]         = sum_{n,h,w} dy[n,h,w,k]
//
// x: (N,H,W,C); w: (K,R,S,C); y: (N,H,W,K); terms outside the image are zero. Gradients are overwritten, not
// added to.
// OpShape: batch N, height H, width W, in_channels C, out_channels K, kernel_height R, kernel_width S, for
// all four ops.
// Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016); the
// implicit-GEMM mapping: S. Chetlur et al., "cuDNN: Efficient primitives for deep learning" (2014), section
// 3.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

OpContract forward_contract();
OpContract backward_input_contract();
OpContract backward_weights_contract();
OpContract backward_bias_contract();

const OpTests& forward_tests();
const OpTests& backward_input_tests();
const OpTests& backward_weights_tests();
const OpTests& backward_bias_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::conv2d
