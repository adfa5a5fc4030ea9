#include "gpu/verify/finite_differences.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "gpu/ops/step/step.h"
#include "gpu/verify/op_check.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Op;
using ops::OpShape;
using Values = std::vector<double>;

constexpr OpShape kConv{.batch = 2,
                        .height = 4,
                        .width = 3,
                        .in_channels = 2,
                        .out_channels = 3,
                        .kernel_height = 3,
                        .kernel_width = 5};
constexpr OpShape kBlock{.batch = 2,
                         .height = 3,
                         .width = 2,
                         .in_channels = 2,
                         .out_channels = 3,
                         .kernel_height = 3,
                         .kernel_width = 5,
                         .upsample = true};
constexpr OpShape kImages{.batch = 2, .height = 5, .width = 4, .in_channels = 3, .out_channels = 3};
constexpr OpShape kLogits{.batch = 6, .in_channels = 5};
constexpr OpShape kLinear{.batch = 3, .in_channels = 4, .out_channels = 5};

/// How a backward op follows from a forward one, by operands of each.
struct Pair {
  Op backward;
  Op forward;
  OpShape shape;
  int variable;  ///< of forward: what is differentiated
  int output;    ///< of forward
  int gradient;  ///< of backward: the gradient of that output; -1: the forward op's output is the loss itself
  int result;    ///< of backward: the gradient of the variable
  int from_forward;  ///< operand of forward that backward reads too, or -1
  int at;            ///< its index in backward
  bool made;         ///< it is one that forward makes
};

constexpr std::array kPairs{
    Pair{Op::mse_backward, Op::mse_forward, kImages, 0, 3, -1, 3, 0, 0, false},
    Pair{Op::cross_entropy_backward, Op::cross_entropy_forward, kLogits, 0, 4, -1, 3, 0, 0, false},
    Pair{Op::block_backward_weights, Op::block_forward, kBlock, 1, 3, 1, 3, 0, 0, false},
    Pair{Op::block_backward_input, Op::block_forward, kBlock, 0, 3, 0, 4, 1, 2, false},
    Pair{Op::conv2d_backward_input, Op::conv2d_forward, kConv, 0, 2, 0, 2, 1, 1, false},
    Pair{Op::conv2d_backward_weights, Op::conv2d_forward, kConv, 1, 2, 1, 2, 0, 0, false},
    Pair{Op::conv2d_backward_bias, Op::bias_forward, kImages, 1, 2, 0, 1, -1, -1, false},
    Pair{Op::linear_backward_input, Op::linear_forward, kLinear, 0, 2, 0, 2, 1, 1, false},
    Pair{Op::linear_backward_weights, Op::linear_forward, kLinear, 1, 2, 1, 2, 0, 0, false},
    Pair{Op::linear_backward_bias,
         Op::bias_forward,
         {.batch = 3, .in_channels = 5, .out_channels = 5},
         1,
         2,
         0,
         1,
         -1,
         -1,
         false},
    Pair{Op::relu_backward, Op::relu_forward, kImages, 0, 1, 1, 2, 1, 0, true},
    Pair{Op::maxpool2d_backward, Op::maxpool2d_forward, kImages, 0, 1, 0, 2, 2, 1, true},
    Pair{Op::upsample2d_backward, Op::upsample2d_forward, kImages, 0, 1, 0, 1, -1, -1, false}};

constexpr auto kBackwardOps = [] {
  std::array<Op, kPairs.size()> list{};
  for (std::size_t i = 0; i < kPairs.size(); ++i) list[i] = kPairs[i].backward;
  return list;
}();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

Values values(const Bytes& bytes) {
  return decode(bytes, core::ElementType::f64);
}
Bytes numbers(const Values& list) {
  return encode(list, core::ElementType::f64);
}

/// Inputs off the corners of the op by more than two steps, with losses so small that differences keep their digits.
Operands forward_inputs(const Pair& pair, std::uint64_t seed) {
  Operands inputs = random_operands(pair.forward, pair.shape, Precision::fp64, seed);
  Values x = values(inputs[0]);
  if (pair.forward == Op::relu_forward) {
    for (double& value : x) value += value < 0 ? -0.01 : 0.01;
  }
  if (pair.forward == Op::maxpool2d_forward) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01 * static_cast<double>(i);
    std::shuffle(x.begin(), x.end(), std::mt19937_64(seed));
  }
  if (pair.forward == Op::cross_entropy_forward) {
    for (double& value : x) value = std::clamp(value, -4.0, 4.0);
  }
  inputs[0] = numbers(x);
  return inputs;
}

/// d(sum of weights * forward(inputs)[output]) / d inputs[variable], by central differences of fourth order.
Values numeric_gradient(const Pair& pair, Operands inputs, const Values& weights) {
  const auto objective = [&](const Values& x) {
    inputs[at(pair.variable)] = numbers(x);
    const Values y = values(run_reference(pair.forward, pair.shape, inputs)[at(pair.output)]);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
    return sum;
  };
  Values x = values(inputs[at(pair.variable)]);
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

}  // namespace

std::span<const Op> differentiated_ops() {
  return kBackwardOps;
}

double difference_error(Op backward, std::uint64_t seed) {
  const auto found =
      std::find_if(kPairs.begin(), kPairs.end(), [&](const Pair& pair) { return pair.backward == backward; });
  if (found == kPairs.end()) throw std::logic_error("no forward op belongs to it");
  const Pair& pair = *found;
  const Operands inputs = forward_inputs(pair, seed);
  Operands before = random_operands(backward, pair.shape, Precision::fp64, seed + 1);
  Values weights{1.0};
  double scale = 1;
  if (pair.gradient >= 0) {
    weights = values(before[at(pair.gradient)]);
  } else {
    // The gradient of the loss itself: read the target or the labels too, and undo the loss scale.
    before[1] = inputs[1];
    ops::step::StepControl control;
    std::memcpy(&control, before[2].data(), sizeof(control));
    scale = static_cast<double>(control.loss_scale);
  }
  if (pair.from_forward >= 0) {
    before[at(pair.at)] = pair.made ? run_reference(pair.forward, pair.shape, inputs)[at(pair.from_forward)]
                                    : inputs[at(pair.from_forward)];
  }
  Values analytic = values(run_reference(backward, pair.shape, before)[at(pair.result)]);
  for (double& value : analytic) value /= scale;
  return relative_error(analytic, numeric_gradient(pair, inputs, weights));
}

}  // namespace warpscope::verify
