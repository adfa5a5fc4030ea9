// The reference's gradients against central differences of the reference's forward ops, in double. All these functions
// are linear, quadratic or linear by pieces, so central differences are exact but for rounding.

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "gpu/ops/bias/bias.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/mse/mse.h"
#include "gpu/ops/relu/relu.h"
#include "gpu/ops/upsample2d/upsample2d.h"
#include "tests/ops/op_check.h"

namespace warpscope::tests {
namespace {

using core::Precision;
using ops::Op;
using ops::OpShape;
using Values = std::vector<double>;

constexpr double kStep = 1e-3;
constexpr double kTolerance = 1e-10;  // rounding of a difference of sums divided by the step

Values values(Op op, const Operands& operands, int index) {
  return operand_values(op, operands, index, Precision::fp64);
}

Bytes numbers(const Values& list) {
  return encode(list, core::ElementType::f64);
}

/// d(sum of weights * forward(inputs)[output]) / d inputs[wanted], by central differences.
Values numeric_gradient(Op op, const OpShape& shape, Operands inputs, int wanted, int output,
                        const Values& weights) {
  const auto objective = [&](const Values& x) {
    inputs[static_cast<std::size_t>(wanted)] = numbers(x);
    const Values y = values(op, run_reference(op, shape, inputs), output);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
    return sum;
  };
  Values x = values(op, inputs, wanted);
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double middle = x[i];
    x[i] = middle + kStep;
    const double above = objective(x);
    x[i] = middle - kStep;
    gradient[i] = (above - objective(x)) / (2 * kStep);
    x[i] = middle;
  }
  return gradient;
}

constexpr OpShape kConv{.batch = 2,
                        .height = 4,
                        .width = 3,
                        .in_channels = 2,
                        .out_channels = 3,
                        .kernel_height = 3,
                        .kernel_width = 5};
constexpr OpShape kImages{.batch = 2, .height = 5, .width = 4, .in_channels = 3};

TEST(Gradient, OfConvolutionWithRespectToItsInput) {
  const Operands forward = random_operands(Op::conv2d_forward, kConv, Precision::fp64, 1);
  const Operands backward = random_operands(Op::conv2d_backward_input, kConv, Precision::fp64, 2);
  const Bytes& dy = backward[ops::conv2d::kInputOutputGradient];
  const Operands analytic =
      run_reference(Op::conv2d_backward_input, kConv, {dy, forward[ops::conv2d::kForwardWeights], {}});
  const Values numeric = numeric_gradient(
      Op::conv2d_forward, kConv, forward, ops::conv2d::kForwardInput, ops::conv2d::kForwardOutput,
      values(Op::conv2d_backward_input, backward, ops::conv2d::kInputOutputGradient));
  EXPECT_LT(
      relative_error(values(Op::conv2d_backward_input, analytic, ops::conv2d::kInputInputGradient), numeric),
      kTolerance);
}

TEST(Gradient, OfConvolutionWithRespectToItsWeights) {
  const Operands forward = random_operands(Op::conv2d_forward, kConv, Precision::fp64, 3);
  const Operands backward = random_operands(Op::conv2d_backward_weights, kConv, Precision::fp64, 4);
  const Bytes& dy = backward[ops::conv2d::kWeightsOutputGradient];
  const Operands analytic =
      run_reference(Op::conv2d_backward_weights, kConv, {forward[ops::conv2d::kForwardInput], dy, {}});
  const Values numeric = numeric_gradient(
      Op::conv2d_forward, kConv, forward, ops::conv2d::kForwardWeights, ops::conv2d::kForwardOutput,
      values(Op::conv2d_backward_weights, backward, ops::conv2d::kWeightsOutputGradient));
  EXPECT_LT(
      relative_error(values(Op::conv2d_backward_weights, analytic, ops::conv2d::kWeightsGradient), numeric),
      kTolerance);
}

TEST(Gradient, OfTheBias) {
  const Operands forward = random_operands(Op::bias_forward, kImages, Precision::fp64, 5);
  OpShape conv = kImages;
  conv.out_channels = kImages.in_channels;
  const Operands backward = random_operands(Op::conv2d_backward_bias, conv, Precision::fp64, 6);
  const Operands analytic = run_reference(Op::conv2d_backward_bias, conv, backward);
  const Values numeric =
      numeric_gradient(Op::bias_forward, kImages, forward, ops::bias::kForwardBias, ops::bias::kForwardOutput,
                       values(Op::conv2d_backward_bias, backward, ops::conv2d::kBiasOutputGradient));
  EXPECT_LT(relative_error(values(Op::conv2d_backward_bias, analytic, ops::conv2d::kBiasGradient), numeric),
            kTolerance);
}

TEST(Gradient, OfRelu) {
  Operands forward = random_operands(Op::relu_forward, kImages, Precision::fp64, 7);
  Values x = values(Op::relu_forward, forward, ops::relu::kForwardInput);
  for (double& value : x) value += value < 0 ? -0.01 : 0.01;  // no step crosses the corner at 0
  forward[ops::relu::kForwardInput] = numbers(x);
  const Bytes y = run_reference(Op::relu_forward, kImages, forward)[ops::relu::kForwardOutput];
  const Operands backward = random_operands(Op::relu_backward, kImages, Precision::fp64, 8);
  const Operands analytic =
      run_reference(Op::relu_backward, kImages, {y, backward[ops::relu::kBackwardOutputGradient], {}});
  const Values numeric = numeric_gradient(
      Op::relu_forward, kImages, forward, ops::relu::kForwardInput, ops::relu::kForwardOutput,
      values(Op::relu_backward, backward, ops::relu::kBackwardOutputGradient));
  EXPECT_LT(relative_error(values(Op::relu_backward, analytic, ops::relu::kBackwardInputGradient), numeric),
            kTolerance);
}

TEST(Gradient, OfMaxPooling) {
  Values x(static_cast<std::size_t>(ops::contract(Op::maxpool2d_forward).operands[0].elements(kImages)));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 0.01 * static_cast<double>(i);  // apart by more than a step
  std::shuffle(x.begin(), x.end(), std::mt19937(9));
  const Operands forward{numbers(x), {}, {}};
  const Bytes argmax = run_reference(Op::maxpool2d_forward, kImages, forward)[ops::maxpool2d::kForwardArgmax];
  const Operands backward = random_operands(Op::maxpool2d_backward, kImages, Precision::fp64, 10);
  const Operands analytic = run_reference(Op::maxpool2d_backward, kImages,
                                          {backward[ops::maxpool2d::kBackwardOutputGradient], argmax, {}});
  const Values numeric = numeric_gradient(
      Op::maxpool2d_forward, kImages, forward, ops::maxpool2d::kForwardInput, ops::maxpool2d::kForwardOutput,
      values(Op::maxpool2d_backward, backward, ops::maxpool2d::kBackwardOutputGradient));
  EXPECT_LT(relative_error(values(Op::maxpool2d_backward, analytic, ops::maxpool2d::kBackwardInputGradient),
                           numeric),
            kTolerance);
}

TEST(Gradient, OfUpsampling) {
  const Operands forward = random_operands(Op::upsample2d_forward, kImages, Precision::fp64, 11);
  const Operands backward = random_operands(Op::upsample2d_backward, kImages, Precision::fp64, 12);
  const Operands analytic = run_reference(Op::upsample2d_backward, kImages, backward);
  const Values numeric =
      numeric_gradient(Op::upsample2d_forward, kImages, forward, ops::upsample2d::kForwardInput,
                       ops::upsample2d::kForwardOutput,
                       values(Op::upsample2d_backward, backward, ops::upsample2d::kBackwardOutputGradient));
  EXPECT_LT(relative_error(values(Op::upsample2d_backward, analytic, ops::upsample2d::kBackwardInputGradient),
                           numeric),
            kTolerance);
}

TEST(Gradient, OfTheMeanSquaredError) {
  const Operands forward = random_operands(Op::mse_forward, kImages, Precision::fp64, 13);
  const Operands analytic =
      run_reference(Op::mse_backward, kImages,
                    {forward[ops::mse::kForwardPrediction], forward[ops::mse::kForwardTarget], {}});
  const Values numeric = numeric_gradient(Op::mse_forward, kImages, forward, ops::mse::kForwardPrediction,
                                          ops::mse::kForwardLoss, {1.0});
  EXPECT_LT(relative_error(values(Op::mse_backward, analytic, ops::mse::kBackwardGradient), numeric),
            kTolerance);
}

}  // namespace
}  // namespace warpscope::tests
