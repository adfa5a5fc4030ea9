#pragma once
// What lowering a model is made of: tensors and nodes are added to a program one after the other.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/plan/program.h"

namespace warpscope::plan {

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
  void node(ops::Op op, const std::string& layer, const ops::OpShape& shape, std::vector<int> tensors);

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

}  // namespace warpscope::plan
