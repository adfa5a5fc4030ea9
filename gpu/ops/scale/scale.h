#pragma once
// Multiplication by a constant, for instance of logits that a linear layer makes too large:
//
//   forward   y = factor x
//   backward  dx = factor dy
//
// NaN stays NaN. Precisions of 16 bits multiply in FP32. forward may run in place of x, backward of dy. OpShape: batch,
// height, width, in_channels, factor, which is finite and not 0. Source: the formula.

#include <string>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::scale {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

/// Variant::refuses of all variants: the factor is 0 or not finite.
std::string refuses(const OpShape& shape);

}  // namespace warpscope::ops::scale
