#pragma once
// Nearest-neighbour upsampling by 2 in height and width.
//
//   forward   y[n,i,j,c]  = x[n,i/2,j/2,c]
//   backward  dx[n,i,j,c] = dy[n,2i,2j,c] + dy[n,2i,2j+1,c] + dy[n,2i+1,2j,c] + dy[n,2i+1,2j+1,c]
//
// x: (N,H,W,C); y: (N,2H,2W,C). OpShape: batch, height and width of x, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::upsample2d {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::upsample2d
