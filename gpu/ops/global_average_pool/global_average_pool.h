#pragma once
// The mean of each channel over an image.
//
//   forward   y[n,c] = 1 / (H W) sum over h, w of x[n,h,w,c]
//   backward  dx[n,h,w,c] = dy[n,c] / (H W)
//
// x, dx: (N,H,W,C); y, dy: (N,1,1,C). Sums are taken in FP32 (double in fp64) in an order that the shape alone fixes,
// so that they have the same bits every time. OpShape: batch, height and width of x, in_channels. Source: M. Lin, Q.
// Chen, S. Yan, "Network in network" (2014).

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::global_average_pool {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::global_average_pool
