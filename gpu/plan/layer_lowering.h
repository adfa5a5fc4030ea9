#pragma once
// What each kind of layer lowers to: the nodes of its forward pass and of its backward pass. A new kind is a row here
// and one in gpu/models/layer.cpp.

#include "gpu/plan/program_builder.h"

namespace warpscope::plan {

/// What backward needs to know of a layer's forward.
struct LayerTensors {
  const models::Layer* layer = nullptr;
  std::size_t number = 0;  ///< its index in the model
  bool training = false;   ///< of a training step
  int input = -1;
  int addend = -1;  ///< the output of Layer::from
  int output = -1;
  int argmax = -1;          ///< of poolings
  int statistics = -1;      ///< of normalizations
  models::Extent extent;    ///< of the input
  ops::OpShape shape = {};  ///< of the layer's own op

  models::Extent output_extent() const {
    models::Extent passed = extent;
    passed.pass(*layer);
    return passed;
  }
};

/// Adds the nodes that make the layer's output of its input: fills in `output` and what backward needs.
void forward_layer(ProgramBuilder& to, LayerTensors& layer);

/// Adds the nodes that make of the gradient of the output those of the parameters, in training, and, if it is `wanted`,
/// that of the input, which it returns; else -1.
int backward_layer(ProgramBuilder& to, const LayerTensors& layer, int gradient, bool wanted);

/// For a maximum pooling of ReLUs: the gradient of the pooled output with the zeros of the ReLU, taken from the pooled
/// output. What a window passes on is its largest, so the result is the same as of the whole image, from a part of it.
int mask_pooled(ProgramBuilder& to, const LayerTensors& pool, const std::string& relu, int gradient);

}  // namespace warpscope::plan
