#pragma once
// The calls of the variants `wmma`, for convolutions and for linear layers, which are convolutions of one tap over
// images of one pixel: their operands have the same names and lie the same way.

#include <cstddef>
#include <string>

#include "gpu/ops/variant.h"
#include "gpu/ops/wmma_cut.h"

namespace warpscope::ops::conv2d::wmma {

/// The products of the three ops, and the workspaces of their calls.
ops::wmma::Sizes forward_sizes(const OpShape& shape);
ops::wmma::Sizes backward_input_sizes(const OpShape& shape);
ops::wmma::Sizes backward_weights_sizes(const OpShape& shape);

ops::wmma::Cut activations_cut(const ops::wmma::Sizes& sizes, core::Precision precision);
ops::wmma::Cut weights_cut(const ops::wmma::Sizes& sizes, core::Precision precision);

/// Each compiled once, in conv2d_wmma_*.cu. forward() adds the bias and does the ReLU that the call covers.
void forward(const OpCall& call);
void backward_input(const OpCall& call);
void backward_weights(const OpCall& call);

/// The variant of an op of convolutions or linear layers.
Variant variant_of(Op op);

}  // namespace warpscope::ops::conv2d::wmma
