#include "gpu/plan/program_builder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace warpscope::plan {

using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Role;

ProgramBuilder::ProgramBuilder(const models::Model& model, int batch, core::Precision precision)
    : layout_(models::parameter_layout(model)),
      batch_(batch),
      casts_(ops::element_type(Role::weight, precision) != ops::element_type(Role::parameter, precision)) {
  control_ = external("control", Storage::control, Role::control, 1);
  if (casts_) cast_weights();
  program.outputs.assign(model.layers.size(), -1);
}

void ProgramBuilder::cast_weights() {
  OpShape shape;
  shape.count = static_cast<std::int64_t>(layout_.elements);
  working_ = planned("weights", Op::weights_cast, Name::weights, shape);
  node(Op::weights_cast, "", shape,
       {{Name::parameters, external("parameters", Storage::parameters, Role::parameter, shape.count)},
        {Name::weights, working_}});
}

int ProgramBuilder::add(Tensor tensor) {
  program.tensors.push_back(std::move(tensor));
  return static_cast<int>(program.tensors.size()) - 1;
}

int ProgramBuilder::external(const std::string& name, Storage storage, Role role, std::int64_t elements,
                             std::size_t offset) {
  return add({name, storage, role, elements, offset, false, -1});
}

int ProgramBuilder::planned(const std::string& name, Op op, Name which, const OpShape& shape, bool kept) {
  const ops::Operand& operand = ops::operand_of(op, which);
  return add({name, Storage::planned, operand.role, operand.elements(shape), 0, kept, -1});
}

int ProgramBuilder::persistent(const std::string& name, Op op, Name which, const OpShape& shape) {
  const int index = planned(name, op, which, shape);
  tensor(index).persistent = true;
  return index;
}

int ProgramBuilder::element(const std::string& name, int parent, int offset) {
  return add({name, Storage::part, Role::scalar, 1, static_cast<std::size_t>(offset), false, parent});
}

void ProgramBuilder::node(Op op, const std::string& layer, const OpShape& shape, const Operands& operands) {
  std::vector<int> tensors;
  for (const ops::Operand& operand : ops::contract(op).operands) {
    const auto found = std::ranges::find(operands, operand.name, &Operands::value_type::first);
    if (found == operands.end())
      throw std::logic_error(
          fmt::format("{} is lowered without {}", ops::to_string(op), ops::to_string(operand.name)));
    tensors.push_back(found->second);
  }
  if (tensors.size() != operands.size())
    throw std::logic_error(
        fmt::format("{} is lowered with other operands than its contract's", ops::to_string(op)));
  program.nodes.push_back({op, layer, shape, std::move(tensors)});
}

int ProgramBuilder::weights(const std::string& name) {
  const models::Parameter& found = layout_.find(name);
  const auto elements = static_cast<std::int64_t>(found.elements);
  if (casts_) return add({name, Storage::part, Role::weight, elements, found.offset, false, working_});
  return external(name, Storage::parameters, Role::weight, elements, found.offset);
}

int ProgramBuilder::kept(const std::string& name) {
  const models::Parameter& found = layout_.find(name);
  return external(name, Storage::parameters, Role::parameter, static_cast<std::int64_t>(found.elements),
                  found.offset);
}

int ProgramBuilder::gradient(const std::string& name) {
  const models::Parameter& found = layout_.find(name);
  return external(name + ".gradient", Storage::gradients, Role::gradient,
                  static_cast<std::int64_t>(found.elements), found.offset);
}

OpShape ProgramBuilder::image_shape(int height, int width, int channels) const {
  OpShape shape;
  shape.batch = batch_;
  shape.height = height;
  shape.width = width;
  shape.in_channels = channels;
  shape.out_channels = channels;
  return shape;
}

OpShape ProgramBuilder::image_shape(const models::Extent& extent) const {
  return image_shape(extent.height, extent.width, extent.channels);
}

OpShape ProgramBuilder::linear_shape(int in_features, int out_features) const {
  OpShape shape = image_shape(1, 1, in_features);
  shape.out_channels = out_features;
  return shape;
}

}  // namespace warpscope::plan
