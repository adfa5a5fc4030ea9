#pragma once
// The wide layers on Hopper: 3x3 layers of channels in multiples of 64, on wgmma and the tensor memory
// accelerator (TMA). What a dispatcher needs of each of the three ops; precisions tf32, fp16 and bf16,
// backward_weights fp16 and bf16 only; compute capability 9.0 built as sm_90a.
//
// They may be called only where is_wide() is true; backward_weights takes is_line() too.
// Activations, weights and their gradients must be aligned to 16 bytes, as the tensor maps want (`launch`
// throws core::Error otherwise); bias, dw and db to their elements. `launch` only enqueues kernels on the
// call's stream: it can be captured in a graph.

#include <cstddef>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::hopper {

namespace forward {
std::size_t workspace(const ChainShape& shape, core::Precision precision);
void launch(const ChainCall& call);
}  // namespace forward

namespace backward_weights {
bool takes(const ChainShape& shape);
std::size_t workspace(const ChainShape& shape, core::Precision precision);
void launch(const ChainCall& call);
}  // namespace backward_weights

namespace backward_input {
std::size_t workspace(const ChainShape& shape, core::Precision precision);
void launch(const ChainCall& call);
}  // namespace backward_input

}  // namespace warpscope::ops::conv2d::fused::hopper
