#pragma once
// Max pooling 2x2, stride 2, no padding: an odd last row or column is dropped (as PyTorch's floor mode).
//
//   forward   y[n,i,j,c] = max over a,b in {0,1} of x[n,2i+a,2j+b,c];  argmax[n,i,j,c] = 2a+b of the first
//   maximum in
//             row-major order. A NaN wins over every number.
//   backward  dx[n,2i+a,2j+b,c] = dy[n,i,j,c] if argmax[n,i,j,c] == 2a+b, else 0; rows and columns that
//   forward dropped
//             get 0. Every element of dx is written.
//
// x: (N,H,W,C); y, argmax: (N,H/2,W/2,C). OpShape: batch, height and width of x, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::maxpool2d
