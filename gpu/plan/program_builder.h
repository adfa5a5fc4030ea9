#pragma once
// What lowering a model is made of: tensors and nodes are added to a program one after the other.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/plan/program.h"

namespace warpscope::plan {

/// Tensors, by what an op calls them.
using Operands = std::vector<std::pair<ops::Name, int>>;

class ProgramBuilder {
 public:
  /// `model` must outlive it. In 16-bit precisions the first node casts the weights.
  ProgramBuilder(const models::Model& model, int batch, core::Precision precision);

  int add(Tensor tensor);
  int external(const std::string& name, Storage storage, ops::Role role, std::int64_t elements,
               std::size_t offset = 0);
  /// A planned tensor of the size and role that the operand `which` of `op` has.
  int planned(const std::string& name, ops::Op op, ops::Name which, const ops::OpShape& shape,
              bool kept = false);
  /// The same, and it lives as long as the plan.
  int persistent(const std::string& name, ops::Op op, ops::Name which, const ops::OpShape& shape);
  /// Element `offset` of the planned tensor `parent`.
  int element(const std::string& name, int parent, int offset);
  /// Each operand of the op's contract once, in any order. Throws std::logic_error that names what is missing or too
  /// much.
  void node(ops::Op op, const std::string& layer, const ops::OpShape& shape, const Operands& operands);

  /// The working weights of a parameter ("conv1.weight"), as layers read them.
  int weights(const std::string& name);
  /// A parameter that a layer keeps itself, in FP32.
  int kept(const std::string& name);
  /// The gradient of a parameter.
  int gradient(const std::string& name);

  ops::OpShape image_shape(int height, int width, int channels) const;
  ops::OpShape image_shape(const models::Extent& extent) const;
  /// An op on `in_features` numbers an image that makes `out_features`.
  ops::OpShape linear_shape(int in_features, int out_features) const;

  bool casts() const { return casts_; }  ///< the working weights are not the master weights
  const models::ParameterLayout& layout() const { return layout_; }
  int control() const { return control_; }
  Tensor& tensor(int index) { return program.tensors[static_cast<std::size_t>(index)]; }

  Program program;

 private:
  void cast_weights();

  models::ParameterLayout layout_;
  int batch_;
  bool casts_;
  int control_ = -1;
  int working_ = -1;
};

// ---- what each kind of layer lowers to ----
//
// The nodes of its forward pass and of its backward pass. A new kind is a row in layer_lowering.cpp and one in
// gpu/models/layer.cpp.

/// What backward needs to know of a layer's forward.
struct LayerTensors {
  const models::Layer* layer = nullptr;
  std::size_t number = 0;          ///< its index in the model
  bool training = false;           ///< of a training step
  const Recipe* recipe = nullptr;  ///< of a step
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
