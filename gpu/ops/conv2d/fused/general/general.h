#pragma once
// The kernels of the variant `fused`, which take every shape, for those variants that have better ones for
// some.

#include <cstddef>
#include <string>

#include "gpu/ops/conv2d/fused/chain.h"

namespace warpscope::ops::conv2d::fused::general {

/// The three ops, for shapes that no better kernel takes.
void forward(const ChainCall& call);
std::size_t forward_workspace(const ChainShape& shape, core::Precision precision);
void backward_weights(const ChainCall& call);
std::size_t backward_weights_workspace(const ChainShape& shape, core::Precision precision);
void backward_input(const ChainCall& call);
std::size_t backward_input_workspace(const ChainShape& shape, core::Precision precision);

/// The convolution of a chain by itself, as variants without a chain take it: its images are upsampled.
OpShape convolution_of(const ChainShape& shape);

/// Variant::refuses of all variants of the chain.
std::string refuses(const OpShape& shape);

}  // namespace warpscope::ops::conv2d::fused::general
