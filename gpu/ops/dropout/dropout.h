#pragma once
// Dropout with scaling in training (inverted), so that in inference there is no op at all.
//
//   forward   y[i] = x[i] m[i] / (1 - rate)      m[i] in {0, 1}, 0 with probability `rate`, each for itself
//   backward  dx[i] = dy[i] m[i] / (1 - rate)    with the same m, drawn again: no mask is stored
//
// m[i] is a function of (seed, step, micro-batch, salt, i) alone (mask.h): seed, step and micro-batch come from
// StepControl, the salt is a number of the layer's own, i counts the elements in memory order. So every variant, on any
// device, in any precision, and a run that is gone on with draw the same mask. A NaN or an infinity in x is NaN in y
// where m is 0. forward may run in place of x, backward of dy. OpShape: batch, height, width, in_channels, dropout_rate
// in [0, 1), salt. Source: N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting"
// (2014).

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::dropout {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

/// Variant::refuses of all variants: the rate is not in [0, 1).
std::string refuses(const OpShape& shape);

}  // namespace warpscope::ops::dropout
