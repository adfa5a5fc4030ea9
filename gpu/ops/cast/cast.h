#pragma once
// Changes of element type, each element by itself.
//
//   weights.cast   w[i] = round(p[i]): the working weights of a step from the master parameters
//   images.widen   y[i] = float(x[i]): activations in FP32, to be shown
//
// round: to nearest even in the type of activations; NaN stays NaN, what is too large becomes an infinity.
// Where both types are the same, both are copies. Errors: none. OpShape: count = number of parameters
// (weights.cast); batch, height, width, in_channels (images.widen). Source: P. Micikevicius et al., "Mixed
// precision training" (2018), 3.1.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::cast {

OpContract weights_contract();
OpContract images_contract();

const OpTests& weights_tests();
const OpTests& images_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::cast
