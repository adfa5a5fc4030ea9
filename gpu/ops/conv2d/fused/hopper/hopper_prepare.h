#pragma once
// Small kernels before the products of the wide layers: summed and transposed weights, unpooled gradients.

#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::hopper {

/// The sums of 3x3 weights (K,3,3,C) for each parity (p, q) of an upsampled layers's output, as (p, q, a, b,
/// K, C): tap (a, b) of 2x2 meets the pixel (a + p - 1, b + q - 1) away. FP32 sums, rounded to the storage
/// type.
void sum_weights(const ChainCall& call, const void* weights, void* summed);

/// The weights (K,R,S,C) of FP32 for backward_input in TF32, with the input channels as filters: (r, s, C, K), or of an
/// upsampled layers the sums as (p, q, a, b, C, K).
void transpose_weights(const ChainCall& call, const void* weights, void* transposed);

/// The gradient of the convolution's output from that of the pooled one: each element to the largest of its
/// window, zeros elsewhere. Moves each element of both tensors once: at 1024x16x16x128 84 MB in 16 bits.
void unpool(const ChainCall& call, const void* pooled, void* full);

}  // namespace warpscope::ops::conv2d::fused::hopper
