#pragma once
// Wide layers of small images on Hopper: as hopper_wide.h, for images of at most 4x4 pixels that are not upsampled and
// not pooled. A patch of the kernels is 64 pixels of eight such images instead of one image that fills a quarter of it
// (hopper_maps.h), so the tensor cores do at most a quarter of the products. Gradients of the weights of such layers
// are among those of hopper_wide.h. Precisions and limits: hopper_wide.h.

#include <cstddef>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::hopper {

namespace small_forward {
void launch(const ChainCall& call);
}  // namespace small_forward

namespace small_backward_input {
std::size_t workspace(const ChainShape& shape, core::Precision precision);
void launch(const ChainCall& call);
}  // namespace small_backward_input

}  // namespace warpscope::ops::conv2d::fused::hopper
