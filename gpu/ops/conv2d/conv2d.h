#pragma once
// 2-D convolution with stride t, dilation d and odd R and S; padding p = d (R-1)/2, q = d (S-1)/2 ("same") or
// none ("valid"). As in deep learning this is a cross-correlation.
//
//   forward           y[n,i,j,k]    = sum_{r,s,c} x[n, i t + r d - p, j t + s d - q, c] * w[k,r,s,c]
//   backward_input    dx[n,h,w,c]   = sum_{r,s,k} dy[n, (h - r d + p) / t, (w - s d + q) / t, k] * w[k,r,s,c]
//   backward_weights  dw[k,r,s,c]   = sum_{n,i,j} x[n, i t + r d - p, j t + s d - q, c] * dy[n,i,j,k]
//   backward_bias     db[k]         = sum_{n,i,j} dy[n,i,j,k]
//
// x: (N,H,W,C); w: (K,R,S,C); y: (N,I,J,K) with I = floor((H + 2 p - d (R-1) - 1) / t) + 1, which is H / t
// rounded up with "same" padding, and J alike: as PyTorch's Conv2d with padding = (p, q). Terms outside the
// image are zero, and so are those of backward_input whose place is no whole number. A convolution in one
// dimension has H = R = 1. Gradients are overwritten, not added to.
// OpShape: batch N, height H, width W, in_channels C, out_channels K, kernel_height R, kernel_width S, stride
// t, dilation d, valid, for all four ops; output_height and output_width give I and J.
// A "plain" convolution (is_plain) has t = d = 1 and y as large as x; the fastest variants take those alone.
// Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016); the
// implicit-GEMM mapping: S. Chetlur et al., "cuDNN: Efficient primitives for deep learning" (2014), section
// 3.

#include <string>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

/// Variant::refuses of the variants that take plain convolutions alone.
std::string refuses_unless_plain(const OpShape& shape);

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
