#pragma once
// The weights as backward_input's products over output channels want them: with the channels that are summed innermost.

#include <cstddef>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

/// Bytes of the transposed weights.
std::size_t transposed_weights_bytes(const OpShape& shape, core::Precision precision);

/// Enqueues (K, R, S, C) to (R, S, C, K): filters of backward_input are input channels.
void transpose_weights(const OpCall& call, const void* weights, void* transposed);

}  // namespace warpscope::ops::conv2d
