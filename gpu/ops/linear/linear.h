#pragma once
// A linear layer without its bias (bias.forward adds that).
//
//   forward            y[n,o]  = sum_i x[n,i] W[o,i]       y  = x W^T
//   backward_input     dx[n,i] = sum_o dy[n,o] W[o,i]      dx = dy W
//   backward_weights   dW[o,i] = sum_n dy[n,o] x[n,i]      dW = dy^T x
//   backward_bias      db[o]   = sum_n dy[n,o]
//
// x, dx: (N,I); y, dy: (N,O); W, dW: (O,I), all row-major. dW and db are FP32 in every precision; sums are
// taken in FP32.
// Errors: none. OpShape: batch = N, in_channels = I, out_channels = O; height = width = 1. Source:
// torch.nn.Linear has the same formulas and layouts.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {

OpContract forward_contract();
OpContract backward_input_contract();
OpContract backward_weights_contract();
OpContract backward_bias_contract();

const OpTests& forward_tests();
const OpTests& backward_input_tests();
const OpTests& backward_weights_tests();
const OpTests& backward_bias_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::linear
