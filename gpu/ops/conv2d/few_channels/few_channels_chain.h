#pragma once
// The kernels of few_channels.h as routes of the variants with a chain (fused/routes.h). Pooling is a pass of its own
// behind them, and before them in backward_weights.

#include <cstddef>

#include "gpu/core/types.h"
#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::few_channels {

namespace chain_forward {
bool takes(const fused::ChainShape& shape);
std::size_t workspace(const fused::ChainShape& shape, core::Precision precision);
void launch(const fused::ChainCall& call);
}  // namespace chain_forward

namespace chain_backward_weights {
bool takes(const fused::ChainShape& shape);
std::size_t workspace(const fused::ChainShape& shape, core::Precision precision);
void launch(const fused::ChainCall& call);
}  // namespace chain_backward_weights

}  // namespace warpscope::ops::conv2d::few_channels
