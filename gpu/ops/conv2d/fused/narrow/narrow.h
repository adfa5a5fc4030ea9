#pragma once
// Convolutions with what lies around them (chain.h) whose layers have few channels on one side, on tensor
// cores (mma.sync): bound by memory, so that each kernel reads and writes every wide element once.
//
//   input_*   the narrow side is x: 3x3, 1 to 4 input channels, no upsampling
//   output_*  the narrow side is y: upsampled input, 3x3, 1 to 4 output channels, no pooling
//
// The wide side has a multiple of 8 channels and is best at 256; TF32, in which operands are rounded to
// nearest, FP16 and BF16; compute capability 8.0 or more, in TF32 with 128 KB of shared memory a block. All
// operands must be aligned to 16 bytes, which the memory of plans is. Results are deterministic.

#include <cstddef>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::narrow {

/// Even height and width; pooled only behind a ReLU.
namespace input_forward {
bool takes(const ChainShape& shape);
void launch(const ChainCall& call);
}  // namespace input_forward

/// Pooled layers only; even height and width.
namespace input_backward_weights {
bool takes(const ChainShape& shape);
std::size_t workspace(const ChainShape& shape, core::Precision precision);
void launch(const ChainCall& call);
}  // namespace input_backward_weights

/// At most 256 input channels.
namespace output_forward {
bool takes(const ChainShape& shape);
void launch(const ChainCall& call);
}  // namespace output_forward

namespace output_backward_input {
bool takes(const ChainShape& shape);
void launch(const ChainCall& call);
}  // namespace output_backward_input

namespace output_backward_weights {
bool takes(const ChainShape& shape);
std::size_t workspace(const ChainShape& shape, core::Precision precision);
void launch(const ChainCall& call);
}  // namespace output_backward_weights

}  // namespace warpscope::ops::conv2d::fused::narrow
