#pragma once
// Layer normalization over the channels of each position (n,h,w), as torch.nn.LayerNorm(C) of images whose
// channels come last (J. Ba, J. Kiros, G. Hinton, "Layer normalization", 2016).
//
//   forward           mean = 1/C sum_c x[c];  r = 1 / sqrt(1/C sum_c (x[c] - mean)^2 + 1e-5)
//                     y[c] = (x[c] - mean) r gamma[c] + beta[c]
//   backward_input    xn[c] = (x[c] - mean) r;  g[c] = dy[c] gamma[c]
//                     dx[c] = r (g[c] - 1/C sum_k g[k] - xn[c] 1/C sum_k g[k] xn[k])
//   backward_weights  dgamma[c] = sum_(n,h,w) dy[c] xn[c];  dbeta[c] = sum_(n,h,w) dy[c]
//
// x, y, dx, dy: (N,H,W,C). `weights` is gamma, `bias` is beta: (C). `statistics`: the means of all positions and
// then the r of all: (2,N,H,W), FP32 in every precision, as sums and gradients of parameters are. y may lie in
// the memory of x, dx in that of dy. Sums are taken in a fixed order: the result is deterministic. One channel
// is its own mean, so y is beta; NaN and infinities make all channels of their position NaN. OpShape: batch,
// height, width, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::layer_norm {

OpContract forward_contract();
OpContract backward_input_contract();
OpContract backward_weights_contract();

const OpTests& forward_tests();
const OpTests& backward_input_tests();
const OpTests& backward_weights_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::layer_norm
