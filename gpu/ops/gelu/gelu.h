#pragma once
// The Gaussian error linear unit, exact: with Phi and phi the standard normal distribution and its density,
//
//   forward   y = x Phi(x) = x / 2 (1 + erf(x / sqrt(2)))
//   backward  dx = dy (Phi(x) + x phi(x)),  phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
//
// NaN stays NaN, and of minus infinity both are NaN (0 times infinity). Precisions of 16 bits compute in FP32. forward
// may run in place of x, backward of dy; backward reads x, the input of forward. OpShape: batch, height, width,
// in_channels. Source: D. Hendrycks, K. Gimpel, "Gaussian error linear units (GELUs)" (2016); PyTorch's default.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::gelu {

OpContract forward_contract();
OpContract backward_contract();

const OpTests& forward_tests();
const OpTests& backward_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::gelu
