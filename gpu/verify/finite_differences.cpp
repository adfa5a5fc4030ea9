#include "gpu/verify/finite_differences.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/reference.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Derivative;
using ops::Name;
using ops::Op;
using Values = std::vector<double>;

std::vector<Op> backward_ops() {
  std::vector<Op> list;
  for (const ops::OpContract& contract : ops::contracts()) {
    if (ops::tests_of(contract.op).derivative) list.push_back(contract.op);
  }
  return list;
}

Values values(const Bytes& bytes) {
  return decode(bytes, core::ElementType::f64);
}
Bytes numbers(const Values& list) {
  return encode(list, core::ElementType::f64);
}

/// Inputs off the corners of the op by more than two steps.
Operands forward_inputs(const Derivative& derivative, std::uint64_t seed) {
  Operands inputs = random_operands(derivative.forward, derivative.shape, Precision::fp64, seed);
  ops::Random random(seed);
  const auto smooth = ops::tests_of(derivative.forward).smooth;
  if (smooth != nullptr) smooth({derivative.forward, derivative.shape, Precision::fp64, random, inputs});
  return inputs;
}

/// d(sum of weights * forward(inputs)[output]) / d inputs[variable], by central differences of fourth order.
Values numeric_gradient(const Derivative& derivative, Operands inputs, const Values& weights) {
  const auto objective = [&](const Values& x) {
    inputs[derivative.variable] = numbers(x);
    const Values y = values(run_reference(derivative.forward, derivative.shape, inputs)[derivative.output]);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
    return sum;
  };
  Values x = values(inputs[derivative.variable]);
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double middle = x[i];
    const auto slope = [&](double step) {
      x[i] = middle + step;
      const double above = objective(x);
      x[i] = middle - step;
      return (above - objective(x)) / (2 * step);
    };
    gradient[i] = (4 * slope(kDifferenceStep) - slope(2 * kDifferenceStep)) / 3;
    x[i] = middle;
  }
  return gradient;
}

/// Operands of the backward op: what it shares with the forward one is as that one has or made it.
Operands backward_inputs(Op backward, const Derivative& derivative, const Operands& inputs,
                         std::uint64_t seed) {
  Operands before = random_operands(backward, derivative.shape, Precision::fp64, seed);
  const Operands after = run_reference(derivative.forward, derivative.shape, inputs);
  for (const ops::Operand& each : ops::contract(derivative.forward).operands) {
    if (before[each.name].empty()) continue;
    before[each.name] = each.access == ops::Access::read ? inputs[each.name] : after[each.name];
  }
  return before;
}

double error_of(Op backward, const Derivative& derivative, std::uint64_t seed) {
  const Operands inputs = forward_inputs(derivative, seed);
  const Operands before = backward_inputs(backward, derivative, inputs, seed + 1);
  Values weights{1.0};
  double scale = 1;
  if (derivative.output_gradient) {
    weights = values(before[*derivative.output_gradient]);
  } else {
    ops::step::StepControl control;
    std::memcpy(&control, before[Name::control].data(), sizeof(control));
    scale = static_cast<double>(control.loss_scale);
  }
  Values analytic = values(run_reference(backward, derivative.shape, before)[derivative.result]);
  for (double& value : analytic) value /= scale;
  return relative_error(analytic, numeric_gradient(derivative, inputs, weights));
}

}  // namespace

std::span<const Op> differentiated_ops() {
  static const std::vector<Op> list = backward_ops();
  return list;
}

double difference_error(Op backward, std::uint64_t seed) {
  const ops::OpTests& tests = ops::tests_of(backward);
  if (!tests.derivative) throw std::logic_error("no forward op belongs to it");
  double worst = error_of(backward, *tests.derivative, seed);
  for (const ops::OpShape& shape : tests.derivative->further) {
    Derivative other = *tests.derivative;
    other.shape = shape;
    worst = std::max(worst, error_of(backward, other, seed));
  }
  for (const Derivative& each : tests.more_derivatives) {
    worst = std::max(worst, error_of(backward, each, seed));
  }
  return worst;
}

}  // namespace warpscope::verify
