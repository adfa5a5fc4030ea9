#include "gpu/verify/operands.h"

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/labels/labels.h"
#include "gpu/ops/linear/linear.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Access;
using ops::Op;
using ops::OpShape;
using ops::Role;

bool widens_channels(Op op) {
  switch (op) {
    case Op::conv2d_forward:
    case Op::linear_forward:
      return true;
    default:
      return false;
  }
}

/// What an absorbed op has beside the operands that it shares with the one before it.
void add_slots(Op absorbed, const OpShape& shape, std::vector<Slot>& slots) {
  const auto operands = ops::contract(absorbed).operands;
  for (const int index : own_operands(absorbed)) {
    const ops::Operand& operand = operands[static_cast<std::size_t>(index)];
    slots.push_back({operand.name, operand.access, operand.role, operand.elements(shape)});
  }
}

/// Converts where `roles` says that a slot holds numbers.
template <class RoleOf>
Operands convert_by(const Operands& operands, Precision from, Precision to, RoleOf role_of) {
  Operands converted = operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Role role = role_of(i);
    const auto narrow = element_type(role, from);
    const auto wide = element_type(role, to);
    if (is_number(role) && narrow != wide) converted[i] = encode(decode(operands[i], narrow), wide);
  }
  return converted;
}

}  // namespace

std::vector<int> own_operands(Op absorbed) {
  switch (absorbed) {
    case Op::linear_backward_input:
      return {ops::linear::kInputWeights, ops::linear::kInputInputGradient};
    case Op::labels_gather:
      return {ops::labels::kGatherLabels, ops::labels::kGatherOutput};
    case Op::cross_entropy_backward:
      return {ops::cross_entropy::kBackwardControl, ops::cross_entropy::kBackwardGradient};
    default:
      return {};
  }
}

bool is_number(Role role) {
  return role != Role::byte && role != Role::index && role != Role::control;
}

std::size_t output_slot(Op op) {
  const auto operands = ops::contract(op).operands;
  std::size_t output = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access != Access::read) output = i;
  }
  return output;
}

OpShape output_shape(Op op, const OpShape& shape) {
  OpShape output;
  output.batch = shape.batch;
  output.height = shape.height;
  output.width = shape.width;
  output.in_channels = output.out_channels = widens_channels(op) ? shape.out_channels : shape.in_channels;
  return output;
}

std::vector<Slot> slots_of(Op op, const OpShape& shape, std::span<const Op> absorbed) {
  std::vector<Slot> slots;
  for (const ops::Operand& operand : ops::contract(op).operands) {
    slots.push_back(
        {operand.name, operand.access, operand.role, operand.elements(shape), operand.in_place_of});
  }
  for (const Op after : absorbed) {
    switch (after) {
      case Op::bias_forward:
        slots.push_back({"bias", Access::read, Role::weight, output_shape(op, shape).in_channels});
        break;
      case Op::relu_forward:
        break;
      case Op::conv2d_backward_bias:
      case Op::linear_backward_bias:
        slots.push_back({"bias_gradient", Access::write, Role::gradient, shape.out_channels});
        break;
      case Op::linear_backward_input:
      case Op::labels_gather:
      case Op::cross_entropy_backward:
        add_slots(after, shape, slots);
        break;
      case Op::relu_backward:
        slots.push_back({kReluOutputSlot, Access::read, Role::activation, slots.back().elements});
        break;
      default:
        throw core::Error(fmt::format("{} cannot absorb {}: no rule says which operands that needs",
                                      to_string(op), to_string(after)));
    }
  }
  return slots;
}

Operands convert(std::span<const Slot> slots, const Operands& operands, Precision from, Precision to) {
  return convert_by(operands, from, to, [&](std::size_t i) { return slots[i].role; });
}

Operands convert(Op op, const Operands& operands, Precision from, Precision to) {
  return convert_by(operands, from, to, [&](std::size_t i) { return ops::contract(op).operands[i].role; });
}

std::vector<double> operand_values(Op op, const Operands& operands, int index, Precision precision) {
  const auto i = static_cast<std::size_t>(index);
  return decode(operands[i], element_type(ops::contract(op).operands[i].role, precision));
}

}  // namespace warpscope::verify
