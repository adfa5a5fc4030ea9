#pragma once
// A linear layer without its bias (bias.forward adds that).
//
//   forward            y[n,o]  = sum_i x[n,i] W[o,i]       y  = x W^T
//   backward_input     dx[n,i] = sum_o dy[n,o] W[o,i]      dx = dy W
//   backward_weights   dW[o,i] = sum_n dy[n,o] x[n,i]      dW = dy^T x
//   backward_bias      db[o]   = sum_n dy[n,o]
//
// x, dx: (N,I); y, dy: (N,O); W, dW: (O,I), all row-major. dW and db are FP32 in every precision; sums are taken in FP32.
// Errors: none. OpShape: batch = N, in_channels = I, out_channels = O; height = width = 1. Source: torch.nn.Linear has the
// same formulas and layouts.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {

enum ForwardOperands : int { kForwardInput, kForwardWeights, kForwardOutput };
enum BackwardInputOperands : int { kInputOutputGradient, kInputWeights, kInputInputGradient };
enum BackwardWeightsOperands : int { kWeightsInput, kWeightsOutputGradient, kWeightsGradient };
enum BackwardBiasOperands : int { kBiasOutputGradient, kBiasGradient };

/// Of a forward call that absorbs bias.forward: after its own operands, the bias.
inline constexpr int kForwardAbsorbedBias = 3;

/// Of a backward_weights call that absorbs backward_bias, backward_input and relu.backward: after its own operands.
enum AbsorbedBackwardOperands : int {
  kWeightsAbsorbedBiasGradient = 3,
  kWeightsAbsorbedWeights,
  kWeightsAbsorbedInputGradient,
  kWeightsAbsorbedReluOutput,
};

std::vector<Variant> variants();

}  // namespace warpscope::ops::linear
