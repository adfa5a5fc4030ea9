#include "gpu/verify/operands.h"

#include <cmath>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Access;
using ops::CallOperand;
using ops::CoveredOp;
using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Random;
using ops::Role;
using ops::Variant;

Bytes random_bytes(std::size_t size, Random& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

std::vector<double> random_numbers(std::size_t elements, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<double> values(elements);
  for (double& value : values) value = normal(random);
  return values;
}

/// Half of the time the batch at hand is the last of the epoch.
Bytes random_control(const OpShape& shape, Random& random) {
  ops::step::StepControl control;
  control.step = random() % 1000;
  control.learning_rate = 0.05f;
  const auto batch = static_cast<std::uint32_t>(shape.batch);
  const auto batches = static_cast<std::uint32_t>(1 + random() % 5);
  control.epoch_size = batches * batch;
  control.position =
      (random() % 2 == 0 ? batches - 1 : static_cast<std::uint32_t>(random() % batches)) * batch;
  control.loss_scale = std::ldexp(1.0f, static_cast<int>(random() % 25));
  control.overflow = random() % 3 == 0 ? 1 : 0;
  control.growth_interval = static_cast<std::uint32_t>(random() % 4);
  control.good_steps = control.growth_interval == 0
                           ? static_cast<std::uint32_t>(random() % 100)
                           : static_cast<std::uint32_t>(random() % control.growth_interval);
  return bytes_of(std::span(&control, 1));
}

Bytes drawn(const CallOperand& operand, const OpShape& shape, Precision precision, Random& random) {
  const auto elements = static_cast<std::size_t>(operand.elements);
  switch (operand.role) {
    case Role::byte:
      return random_bytes(elements, random);
    case Role::index:
      return random_order(elements, random);
    case Role::control:
      return operand.name == Name::control ? random_control(shape, random) : random_bytes(elements, random);
    default:
      return encode(random_numbers(elements, random), element_type(operand.role, precision));
  }
}

Bytes converted(const Bytes& bytes, Role role, Precision from, Precision to) {
  const auto narrow = element_type(role, from);
  const auto wide = element_type(role, to);
  return is_number(role) && narrow != wide ? encode(decode(bytes, narrow), wide) : bytes;
}

}  // namespace

Variant alone(Op op) {
  Variant variant;
  variant.op = op;
  return variant;
}

std::vector<CallOperand> plain_operands(const Variant& variant, const OpShape& shape) {
  Variant plain = variant;
  plain.formats = {};
  return operands_of(plain, shape);
}

Operands operands_of_covered(const Variant& variant, const OpShape& shape, const CoveredOp& covered,
                             const Operands& operands) {
  Operands own;
  for (const ops::Operand& each : ops::contract(covered.op).operands) {
    own[each.name] = operands[call_name(variant, shape.covered, covered.link, each.name)];
  }
  return own;
}

bool is_number(Role role) {
  return role != Role::byte && role != Role::index && role != Role::control;
}

Operands random_operands(const Variant& variant, const OpShape& shape, Precision precision,
                         std::uint64_t seed) {
  Random random(seed);
  Operands operands;
  const auto list = plain_operands(variant, shape);
  for (const CallOperand& operand : list) {
    if (operand.access != Access::write) operands[operand.name] = drawn(operand, shape, precision, random);
  }
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    const auto fit = ops::tests_of(covered.op).fit;
    if (fit == nullptr) continue;
    Operands own = operands_of_covered(variant, shape, covered, operands);
    fit({covered.op, covered.shape, precision, random, own, variant.far_means});
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      if (!own[each.name].empty()) {
        operands[call_name(variant, shape.covered, covered.link, each.name)] = own[each.name];
      }
    }
  }
  return operands;
}

Operands random_operands(Op op, const OpShape& shape, Precision precision, std::uint64_t seed) {
  return random_operands(alone(op), shape, precision, seed);
}

Operands convert(const Variant& variant, const OpShape& shape, const Operands& operands, Precision from,
                 Precision to) {
  Operands result = operands;
  for (const CallOperand& each : plain_operands(variant, shape)) {
    result[each.name] = converted(operands[each.name], each.role, from, to);
  }
  return result;
}

Operands convert(Op op, const Operands& operands, Precision from, Precision to) {
  Operands result = operands;
  for (const ops::Operand& each : ops::contract(op).operands) {
    result[each.name] = converted(operands[each.name], each.role, from, to);
  }
  return result;
}

std::vector<double> operand_values(Op op, const Operands& operands, Name name, Precision precision) {
  return decode(operands[name], element_type(operand_of(op, name).role, precision));
}

}  // namespace warpscope::verify
