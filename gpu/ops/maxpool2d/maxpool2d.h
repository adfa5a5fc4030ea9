#pragma once
// Max pooling, the stride that of the window, no padding: the last rows and columns that fill no window are dropped (as
// PyTorch's floor mode). With windows of R x S:
//
//   forward   y[n,i,j,c] = max over a < R, b < S of x[n,R i+a,S j+b,c];  argmax[n,i,j,c] = S a+b of the first maximum
//             in row-major order. A NaN wins over every number.
//   backward  dx[n,R i+a,S j+b,c] = dy[n,i,j,c] if argmax[n,i,j,c] == S a+b, else 0; rows and columns that forward
//             dropped get 0. Every element of dx is written.
//
// x: (N,H,W,C); y, argmax: (N,H/R,W/S,C), rounded down. OpShape: batch, height and width of x, in_channels,
// kernel_height = R and kernel_width = S from 1 to 3; 2x2 in most networks, 1x2 and 1x3 where there is one dimension.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

/// Rows and columns of y.
inline int pooled_height(const OpShape& s) {
  return s.height / s.kernel_height;
}
inline int pooled_width(const OpShape& s) {
  return s.width / s.kernel_width;
}

inline bool is_two_by_two(const OpShape& s) {
  return s.kernel_height == 2 && s.kernel_width == 2;
}

}  // namespace warpscope::ops::maxpool2d
