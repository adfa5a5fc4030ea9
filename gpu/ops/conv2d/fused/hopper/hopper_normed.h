#pragma once
// Wide layers before a batch norm on Hopper: forward as hopper_wide.h and hopper_small.h say, which also leaves the
// moments of its output. FP16 and BF16; limits as there.

#include <cstddef>

#include "gpu/ops/batch_norm/partial_moments.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::hopper::normed_forward {

/// For is_wide() shapes without upsampling, ReLU and pooling, here and below: bytes.
std::size_t workspace(const ChainShape& shape);

/// Enqueues the convolution. The moments that it returns lie in the workspace.
batch_norm::PartialMoments launch(const ChainCall& call);

}  // namespace warpscope::ops::conv2d::fused::hopper::normed_forward
