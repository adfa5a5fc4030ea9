#pragma once
// Small kernels before the products of the wide layers: summed and transposed weights, unpooled gradients.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::hopper {

/// Of 3x3 weights (K,3,3,C) the sums for each parity (p, q) of an upsampled layers's output, as (p, q, a, b,
/// K, C): tap (a, b) of 2x2 meets the pixel (a + p - 1, b + q - 1) away. FP32 sums, rounded to the storage
/// type.
void sum_weights(const ChainShape& shape, const void* weights, void* summed, core::Precision precision,
                 cudaStream_t stream);

/// The weights (K,R,S,C) of FP32 for backward_input in TF32, with the input channels as filters: (r, s, C, K), or of an
/// upsampled layers the sums as (p, q, a, b, C, K).
void transpose_weights(const ChainShape& shape, const void* weights, void* transposed, cudaStream_t stream);

/// The gradient of the convolution's output from that of the pooled one: each element to the largest of its
/// window, zeros elsewhere. Moves each element of both tensors once: at 1024x16x16x128 84 MB in 16 bits.
void unpool(const ChainShape& shape, const void* pooled, const std::uint8_t* argmax, void* full,
            core::Precision precision, cudaStream_t stream);

}  // namespace warpscope::ops::conv2d::fused::hopper
