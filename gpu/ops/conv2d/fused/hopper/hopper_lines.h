#pragma once
// Convolutions of one dimension on Hopper, as those of hopper_wide.h: 3, 5 or 7 taps, stride 1, same padding or
// none, channels in multiples of 64 up to 1024, not upsampled; poolings only of line_pooled and
// line_unpooled. The kernels are those of two dimensions: what there are the rows of an image are the positions here,
// and what there are its columns are texts (Lines). Precisions tf32, fp16 and bf16, backward_weights fp16 and
// bf16 only (in hopper_backward_weights.cu, which takes lines too); the rest as hopper_wide.h says.

#include <cstddef>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::hopper {

namespace line_forward {
void launch(const ChainCall& call);
}  // namespace line_forward

/// Forward with a pooling in windows of kLineWindow positions behind it. argmax has a byte an element, as maxpool2d.cpp
/// says: what makes the gradient of the pooling by itself reads it too. y and argmax aligned to 16 bytes.
namespace line_pooled {
bool takes(const ChainShape& shape);
void launch(const ChainCall& call);
}  // namespace line_pooled

namespace line_backward_input {
std::size_t workspace(const ChainShape& shape, core::Precision precision);
void launch(const ChainCall& call);
}  // namespace line_backward_input

/// backward_input with the gradient of a pooling in windows of kLineWindow before it, whose input windows fill: dx has
/// kLineWindow times the positions of x. `argmax` as above.
namespace line_unpooled {
bool takes(const ChainShape& shape);
void launch(const ChainCall& call);
}  // namespace line_unpooled

}  // namespace warpscope::ops::conv2d::fused::hopper
