#pragma once
// Batch normalization: over the n = N H W positions of a batch for each channel, as torch.nn.BatchNorm2d and
// BatchNorm1d (S. Ioffe, C. Szegedy, "Batch normalization", 2015).
//
//   forward   mean[c] = 1/n sum x;  r[c] = 1 / sqrt(1/n sum (x - mean[c])^2 + 1e-5)      (sums over n, h, w)
//             y = (x - mean[c]) r[c] gamma[c] + beta[c]
//   backward  xn = (x - mean[c]) r[c];  dgamma[c] = sum dy xn;  dbeta[c] = sum dy
//             dx = gamma[c] r[c] (dy - dbeta[c] / n - xn dgamma[c] / n)
//   infer     y = (x - running_mean[c]) / sqrt(running_variance[c] + 1e-5) gamma[c] + beta[c]
//   track     running_mean[c]     += 0.1 (mean[c] - running_mean[c])
//             running_variance[c] += 0.1 (n / (n - 1) (1 / r[c]^2 - 1e-5) - running_variance[c])
//
// x, y, dx, dy: (N,H,W,C). `weights` is gamma, `bias` is beta: (C). `statistics`: the means of all channels and
// then the r of all: (2,C), FP32 in every precision, as sums and gradients of parameters are. y may lie in the
// memory of x, dx in that of dy. Sums are taken in a fixed order: the result is deterministic.
//
// track leaves all as it is while control.halted is set, and a channel of which mean or variance is not finite.
// With one position (n = 1) the variance is 0 and stays so: n / (n - 1) is left out. OpShape: batch, height,
// width, in_channels.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {

OpContract forward_contract();
OpContract infer_contract();
OpContract backward_contract();
OpContract track_contract();

const OpTests& forward_tests();
const OpTests& infer_tests();
const OpTests& backward_tests();
const OpTests& track_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::batch_norm
