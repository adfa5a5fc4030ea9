// The reference held against results worked out by hand.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/op_check.h"

namespace warpscope::verify::reference_test {
namespace {

using ops::Name;
using ops::Op;
using ops::OpShape;
using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Bytes numbers(const Values& values) {
  return encode(values, core::ElementType::f64);
}
Bytes codes(const Values& values) {
  return encode(values, core::ElementType::u8);
}

template <class T>
Bytes bytes_of(const std::vector<T>& data) {
  Bytes bytes(data.size() * sizeof(T));
  std::memcpy(bytes.data(), data.data(), bytes.size());
  return bytes;
}

/// Values of operand `index` after the fp64 reference.
Values result(Op op, const OpShape& shape, const Operands& before, Name name) {
  return operand_values(op, run_reference(op, shape, before), name, core::Precision::fp64);
}

constexpr OpShape kThreeByThree{
    .height = 3, .width = 3, .in_channels = 1, .out_channels = 1, .kernel_height = 3, .kernel_width = 3};

// 1 2 3        0 1 0
// 4 5 6   with 2 0 0   e.g. the middle: 1*2 (above) + 2*4 (left) + 3*6 (right) + 0*8 = 28
// 7 8 9        ...     asymmetric on purpose: a convolution that flips the kernel gives other numbers
const Values kImage{1, 2, 3, 4, 5, 6, 7, 8, 9};
const Values kKernel{0, 1, 0, 2, 0, 3, 0, 0, 4};

/// Bytes as batch.gather leaves them.
Bytes text(std::vector<int> bytes) {
  Values values;
  for (const int byte : bytes) values.push_back(byte / 255.0);
  return numbers(values);
}

TEST(Reference, CastsAreCopiesWhereBothTypesAreTheSame) {
  const Values values{1, -2.5, 1e300};
  EXPECT_EQ(result(Op::weights_cast, {.count = 3}, {{Name::parameters, numbers(values)}}, Name::weights),
            values);
  EXPECT_EQ(result(Op::images_widen, {.batch = 3, .in_channels = 1}, {{Name::input, numbers(values)}},
                   Name::output),
            values);
}

TEST(Reference, OneHotCharactersHaveAChannelEach) {
  const OpShape shape{.batch = 2, .width = 2, .out_channels = 3};
  EXPECT_EQ(result(Op::one_hot_forward, shape, {{Name::input, text({1, 3, 0, 4})}}, Name::output),
            (Values{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(Reference, AnEmbeddingPicksRowsAndAddsTheirGradients) {
  const OpShape shape{.batch = 1, .width = 4, .out_channels = 2, .count = 3};
  const Bytes x = text({2, 0, 2, 3});  // 3 has no row, so that it is 0
  EXPECT_EQ(result(Op::embedding_forward, shape,
                   {{Name::input, x}, {Name::weights, numbers({1, 2, 3, 4, 5, 6})}}, Name::output),
            (Values{5, 6, 1, 2, 5, 6, 1, 2}));
  EXPECT_EQ(result(Op::embedding_backward_weights, shape,
                   {{Name::input, x}, {Name::output_gradient, numbers({1, 2, 10, 20, 100, 200, 1000, 2000})}},
                   Name::weights_gradient),
            (Values{1010, 2020, 0, 0, 101, 202}));
}

TEST(Reference, RunningStatisticsBeginEachMicroBatchAsTheStepBegan) {
  const OpShape shape{.count = 2};
  ops::step::StepControl control{.micro_batches = 2};
  Operands state = run_reference(Op::running_begin, shape,
                                 {{Name::control, bytes_of(std::vector{control})},
                                  {Name::running, numbers({1, 2})},
                                  {Name::saved, numbers({kNan, 7})}});
  EXPECT_EQ(operand_values(Op::running_begin, state, Name::saved, core::Precision::fp64), (Values{1, 2}));
  control.micro_batch = 1;
  state[Name::control] = bytes_of(std::vector{control});
  state[Name::running] = numbers({5, 6});
  state = run_reference(Op::running_begin, shape, state);
  EXPECT_EQ(operand_values(Op::running_begin, state, Name::running, core::Precision::fp64), (Values{1, 2}));
  EXPECT_EQ(result(Op::running_end, shape, {{Name::sums, numbers({3, 4})}}, Name::running), (Values{3, 4}));
}

TEST(Reference, OneRankIsTheMeanOfItself) {
  const Operands after = run_reference(Op::gradients_allreduce, {.in_channels = 1, .count = 2},
                                       {{Name::gradients, numbers({1, -2})},
                                        {Name::metrics, numbers({3, 4, 5})},
                                        {Name::running, numbers({6})}});
  EXPECT_EQ(operand_values(Op::gradients_allreduce, after, Name::gradients, core::Precision::fp64),
            (Values{1, -2}));
  EXPECT_EQ(operand_values(Op::gradients_allreduce, after, Name::metrics, core::Precision::fp64),
            (Values{3, 4, 5}));
  EXPECT_EQ(operand_values(Op::gradients_allreduce, after, Name::running, core::Precision::fp64),
            (Values{6}));
}

TEST(Reference, ConvolvesAsCrossCorrelationWithZeroPadding) {
  const Values y = result(Op::conv2d_forward, kThreeByThree,
                          {{Name::input, numbers(kImage)}, {Name::weights, numbers(kKernel)}}, Name::output);
  // y[h,w] = x[h-1,w] + 2 x[h,w-1] + 3 x[h,w+1] + 4 x[h+1,w+1]
  EXPECT_EQ(y, (Values{3 * 2 + 4 * 5, 2 * 1 + 3 * 3 + 4 * 6, 2 * 2,              //
                       1 + 3 * 5 + 4 * 8, 2 + 2 * 4 + 3 * 6 + 4 * 9, 3 + 2 * 5,  //
                       4 + 3 * 8, 5 + 2 * 7 + 3 * 9, 6 + 2 * 8}));
}

TEST(Reference, ConvolutionGradientOfTheInputIsTheTransposedConvolution) {
  // One gradient in the middle lays the kernel down on the image around it.
  const Values middle = result(
      Op::conv2d_backward_input, kThreeByThree,
      {{Name::output_gradient, numbers({0, 0, 0, 0, 1, 0, 0, 0, 0})}, {Name::weights, numbers(kKernel)}},
      Name::input_gradient);
  EXPECT_EQ(middle, kKernel);
  const Values corner = result(
      Op::conv2d_backward_input, kThreeByThree,
      {{Name::output_gradient, numbers({10, 0, 0, 0, 0, 0, 0, 0, 0})}, {Name::weights, numbers(kKernel)}},
      Name::input_gradient);
  EXPECT_EQ(corner, (Values{0, 30, 0, 0, 40, 0, 0, 0, 0}));
}

TEST(Reference, ConvolutionGradientOfTheWeightsCorrelatesInputAndGradient) {
  const Values middle =
      result(Op::conv2d_backward_weights, kThreeByThree,
             {{Name::input, numbers(kImage)}, {Name::output_gradient, numbers({0, 0, 0, 0, 1, 0, 0, 0, 0})}},
             Name::weights_gradient);
  EXPECT_EQ(middle, kImage);
  const Values corner =
      result(Op::conv2d_backward_weights, kThreeByThree,
             {{Name::input, numbers(kImage)}, {Name::output_gradient, numbers({1, 0, 0, 0, 0, 0, 0, 0, 0})}},
             Name::weights_gradient);
  EXPECT_EQ(corner, (Values{0, 0, 0, 0, 1, 2, 0, 4, 5}));
}

TEST(Reference, ConvolutionMixesChannelsByTheKrscLayout) {
  // One pixel, two channels in, three out: a matrix of weights (K, C) times (10, 100).
  const OpShape shape{.in_channels = 2, .out_channels = 3};
  const Values y =
      result(Op::conv2d_forward, shape,
             {{Name::input, numbers({10, 100})}, {Name::weights, numbers({1, 2, 3, 4, 5, 6})}}, Name::output);
  EXPECT_EQ(y, (Values{210, 430, 650}));
}

OpShape three_by_three(int stride, int dilation, bool valid) {
  OpShape shape = kThreeByThree;
  shape.stride = stride;
  shape.dilation = dilation;
  shape.valid = valid;
  return shape;
}

TEST(Reference, ConvolvesWithStrideDilationAndWithoutPadding) {
  const Operands before{{Name::input, numbers(kImage)}, {Name::weights, numbers(kKernel)}};
  const auto convolve = [&](const OpShape& shape) {
    return result(Op::conv2d_forward, shape, before, Name::output);
  };
  EXPECT_EQ(convolve(three_by_three(2, 1, false)), (Values{3 * 2 + 4 * 5, 2 * 2, 4 + 3 * 8, 6 + 2 * 8}))
      << "the corners of the result with stride 1";
  // y[h,w] = x[h-2,w] + 2 x[h,w-2] + 3 x[h,w+2] + 4 x[h+2,w+2]
  EXPECT_EQ(convolve(three_by_three(1, 2, false)), (Values{3 * 3 + 4 * 9, 0, 2 * 1,  //
                                                           3 * 6, 0, 2 * 4,          //
                                                           1 + 3 * 9, 2, 3 + 2 * 7}));
  EXPECT_EQ(convolve(three_by_three(1, 1, true)), (Values{2 + 2 * 4 + 3 * 6 + 4 * 9}));
}

TEST(Reference, ConvolutionGradientOfTheInputPutsSteppedKernelsApart) {
  // With stride 2 the four outputs lie on the corners of the image.
  const Values dx =
      result(Op::conv2d_backward_input, three_by_three(2, 1, false),
             {{Name::output_gradient, numbers({1, 0, 0, 10})}, {Name::weights, numbers(kKernel)}},
             Name::input_gradient);
  EXPECT_EQ(dx, (Values{0, 3, 0, 0, 4, 10 * 1, 0, 10 * 2, 0}));
}

TEST(Reference, ConvolutionGradientOfTheWeightsStepsOverTheInput) {
  const auto gradient = [](const OpShape& shape, const Values& dy) {
    return result(Op::conv2d_backward_weights, shape,
                  {{Name::input, numbers(kImage)}, {Name::output_gradient, numbers(dy)}},
                  Name::weights_gradient);
  };
  EXPECT_EQ(gradient(three_by_three(1, 2, false), {1, 0, 0, 0, 0, 0, 0, 0, 0}),
            (Values{0, 0, 0, 0, 1, 3, 0, 7, 9}));
  EXPECT_EQ(gradient(three_by_three(1, 1, true), {2}), (Values{2, 4, 6, 8, 10, 12, 14, 16, 18}));
  OpShape one_tap = three_by_three(2, 1, true);
  one_tap.kernel_height = one_tap.kernel_width = 1;
  EXPECT_EQ(gradient(one_tap, {1, 2, 3, 4}), (Values{1 * 1 + 2 * 3 + 3 * 7 + 4 * 9}));
}

TEST(Reference, BiasGradientSumsOverTheOutputOfASteppedConvolution) {
  const OpShape shape{.batch = 2, .height = 1, .width = 3, .in_channels = 5, .out_channels = 2, .stride = 2};
  const Values db =
      result(Op::conv2d_backward_bias, shape,
             {{Name::output_gradient, numbers({1, 10, 2, 20, 3, 30, 4, 40})}}, Name::bias_gradient);
  EXPECT_EQ(db, (Values{10, 100}));
}

TEST(Reference, BiasGradientSumsOverBatchAndPixels) {
  const OpShape shape{.batch = 2, .height = 1, .width = 2, .in_channels = 5, .out_channels = 2};
  const Values db =
      result(Op::conv2d_backward_bias, shape,
             {{Name::output_gradient, numbers({1, 10, 2, 20, 3, 30, 4, 40})}}, Name::bias_gradient);
  EXPECT_EQ(db, (Values{10, 100}));
}

TEST(Reference, AddsTheBiasOfEachChannel) {
  const OpShape shape{.batch = 1, .height = 2, .width = 1, .in_channels = 2};
  const Values y =
      result(Op::bias_forward, shape, {{Name::input, numbers({1, 2, 3, 4})}, {Name::bias, numbers({10, 20})}},
             Name::output);
  EXPECT_EQ(y, (Values{11, 22, 13, 24}));
}

TEST(Reference, ReluCutsAtZeroAndKeepsNan) {
  const OpShape shape{.in_channels = 4};
  const Values y = result(Op::relu_forward, shape, {{Name::input, numbers({-1, 0, 2, kNan})}}, Name::output);
  EXPECT_EQ((Values{y.begin(), y.begin() + 3}), (Values{0, 0, 2}));
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Reference, ReluGradientIsZeroAtZero) {
  const OpShape shape{.in_channels = 3};
  const Values dx =
      result(Op::relu_backward, shape,
             {{Name::output, numbers({0, 2, 0.5})}, {Name::output_gradient, numbers({7, 8, -9})}},
             Name::input_gradient);
  EXPECT_EQ(dx, (Values{0, 8, -9}));
}

TEST(Reference, GeluWeighsByTheNormalDistribution) {
  // Phi(1) and phi(1) from tables of the normal distribution.
  constexpr double kPhi = 0.8413447460685429, kDensity = 0.24197072451914337;
  const OpShape shape{.in_channels = 5};
  const Bytes x = numbers({0, 1, -1, 40, kNan});
  const Values y = result(Op::gelu_forward, shape, {{Name::input, x}}, Name::output);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], kPhi, 1e-15);
  EXPECT_NEAR(y[2], kPhi - 1, 1e-15);
  EXPECT_EQ(y[3], 40);
  EXPECT_TRUE(std::isnan(y[4]));
  const Values dx =
      result(Op::gelu_backward, shape, {{Name::input, x}, {Name::output_gradient, numbers({8, 2, 2, -3, 1})}},
             Name::input_gradient);
  EXPECT_EQ(dx[0], 4);
  EXPECT_NEAR(dx[1], 2 * (kPhi + kDensity), 1e-15);
  EXPECT_NEAR(dx[2], 2 * (1 - kPhi - kDensity), 1e-15);
  EXPECT_EQ(dx[3], -3);
  EXPECT_TRUE(std::isnan(dx[4]));
}

TEST(Reference, GlobalAveragePoolTakesTheMeanOfEachChannel) {
  const OpShape shape{.batch = 2, .height = 1, .width = 2, .in_channels = 3};
  const Values y = result(Op::global_average_pool_forward, shape,
                          {{Name::input, numbers({1, 10, -4, 3, 30, 4, 5, 0, 7, 6, 0, kNan})}}, Name::output);
  EXPECT_EQ((Values{y.begin(), y.begin() + 5}), (Values{2, 20, 0, 5.5, 0}));
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(result(Op::global_average_pool_backward, shape,
                   {{Name::output_gradient, numbers({2, 4, 6, -8, 0, 1})}}, Name::input_gradient),
            (Values{1, 2, 3, 1, 2, 3, -4, 0, 0.5, -4, 0, 0.5}));
}

TEST(Reference, MaxPoolTakesTheFirstOfEqualValues) {
  const OpShape shape{.height = 2, .width = 8, .in_channels = 1, .kernel_height = 2, .kernel_width = 2};
  const Operands after = run_reference(Op::maxpool2d_forward, shape,
                                       {{Name::input, numbers({5, 5, 1, 3, 0, 0, -2, -1,  //
                                                               5, 5, 3, 3, 0, 1, -1, -3})}});
  EXPECT_EQ(after[Name::output], numbers({5, 3, 1, -1}));
  EXPECT_EQ(after[Name::argmax], codes({0, 1, 3, 1}));
}

TEST(Reference, MaxPoolPrefersTheFirstNan) {
  const OpShape shape{.height = 2, .width = 4, .in_channels = 1, .kernel_height = 2, .kernel_width = 2};
  const Operands after = run_reference(Op::maxpool2d_forward, shape,
                                       {{Name::input, numbers({9, 1, kNan, 7, 2, kNan, kNan, 8})}});
  const Values y = operand_values(Op::maxpool2d_forward, after, Name::output, core::Precision::fp64);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(after[Name::argmax], codes({3, 0}));
}

TEST(Reference, MaxPoolDropsAnOddLastRowAndColumn) {
  const OpShape shape{.height = 3, .width = 3, .in_channels = 1, .kernel_height = 2, .kernel_width = 2};
  const Operands after = run_reference(Op::maxpool2d_forward, shape, {{Name::input, numbers(kImage)}});
  EXPECT_EQ(after[Name::output], numbers({5}));
  EXPECT_EQ(after[Name::argmax], codes({3}));
  const Values dx =
      result(Op::maxpool2d_backward, shape,
             {{Name::output_gradient, numbers({6})}, {Name::argmax, codes({3})}}, Name::input_gradient);
  EXPECT_EQ(dx, (Values{0, 0, 0, 0, 6, 0, 0, 0, 0}));
}

TEST(Reference, MaxPoolCodesTheWinnersOfOtherWindows) {
  const OpShape line{.width = 8, .in_channels = 1, .kernel_height = 1, .kernel_width = 3};
  const Operands after =
      run_reference(Op::maxpool2d_forward, line, {{Name::input, numbers({1, 2, 3, 6, 5, 6, 9, 9})}});
  EXPECT_EQ(after[Name::output], numbers({3, 6})) << "the last two fill no window";
  EXPECT_EQ(after[Name::argmax], codes({2, 0}));
  EXPECT_EQ(
      result(Op::maxpool2d_backward, line,
             {{Name::output_gradient, numbers({7, 8})}, {Name::argmax, codes({2, 0})}}, Name::input_gradient),
      (Values{0, 0, 7, 8, 0, 0, 0, 0}));
  OpShape square = kThreeByThree;
  const Operands largest = run_reference(Op::maxpool2d_forward, square, {{Name::input, numbers(kImage)}});
  EXPECT_EQ(largest[Name::output], numbers({9}));
  EXPECT_EQ(largest[Name::argmax], codes({8}));
  square.kernel_width = 2;
  const Operands narrow = run_reference(Op::maxpool2d_forward, square, {{Name::input, numbers(kImage)}});
  EXPECT_EQ(narrow[Name::output], numbers({8}));
  EXPECT_EQ(narrow[Name::argmax], codes({5})) << "third row, second column";
}

TEST(Reference, UpsamplingRepeatsEachPixelAndItsGradientSumsThem) {
  const OpShape shape{.height = 1, .width = 2, .in_channels = 2};
  const Values y =
      result(Op::upsample2d_forward, shape, {{Name::input, numbers({1, 2, 3, 4})}}, Name::output);
  EXPECT_EQ(y, (Values{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
  Values dy(16);
  std::iota(dy.begin(), dy.end(), 1.0);
  const Values dx =
      result(Op::upsample2d_backward, shape, {{Name::output_gradient, numbers(dy)}}, Name::input_gradient);
  EXPECT_EQ(dx, (Values{1 + 3 + 9 + 11, 2 + 4 + 10 + 12, 5 + 7 + 13 + 15, 6 + 8 + 14 + 16}));
}

TEST(Reference, MseIsTheMeanOverImagesAndElements) {
  const OpShape shape{.batch = 2, .height = 1, .width = 2, .in_channels = 1};
  const Bytes y = numbers({1, 2, 3, 4});
  const Bytes t = numbers({0, 4, 3, 1});
  const Operands after = run_reference(Op::mse_forward, shape, {{Name::prediction, y}, {Name::target, t}});
  EXPECT_EQ(after[Name::sample_losses], numbers({2.5, 4.5}));
  EXPECT_EQ(after[Name::loss], numbers({3.5}));
  ops::step::StepControl control;
  EXPECT_EQ(
      result(Op::mse_backward, shape,
             {{Name::prediction, y}, {Name::target, t}, {Name::control, bytes_of(std::vector{control})}},
             Name::gradient),
      (Values{0.5, -1, 0, 1.5}));
  control.loss_scale = 8;
  EXPECT_EQ(
      result(Op::mse_backward, shape,
             {{Name::prediction, y}, {Name::target, t}, {Name::control, bytes_of(std::vector{control})}},
             Name::gradient),
      (Values{4, -8, 0, 12}));
}

TEST(Reference, LinearMultipliesByTheTransposedWeights) {
  const OpShape shape{.batch = 2, .in_channels = 3, .out_channels = 2};
  const Bytes x = numbers({1, 2, 3, 4, 5, 6});
  const Bytes weights = numbers({1, 0, -1, 2, 1, 0});
  const Bytes dy = numbers({1, 10, 100, 1000});
  EXPECT_EQ(result(Op::linear_forward, shape, {{Name::input, x}, {Name::weights, weights}}, Name::output),
            (Values{-2, 4, -2, 13}));
  EXPECT_EQ(result(Op::linear_backward_input, shape, {{Name::output_gradient, dy}, {Name::weights, weights}},
                   Name::input_gradient),
            (Values{21, 10, -1, 2100, 1000, -100}));
  EXPECT_EQ(result(Op::linear_backward_weights, shape, {{Name::input, x}, {Name::output_gradient, dy}},
                   Name::weights_gradient),
            (Values{401, 502, 603, 4010, 5020, 6030}));
  EXPECT_EQ(result(Op::linear_backward_bias, shape, {{Name::output_gradient, dy}}, Name::bias_gradient),
            (Values{101, 1010}));
}

TEST(Reference, GathersByTheOrderFromThePositionAndWraps) {
  const OpShape shape{.batch = 3, .height = 1, .width = 1, .in_channels = 2, .count = 4};
  ops::step::StepControl control;
  control.position = 2;
  const Values x = result(Op::batch_gather, shape,
                          {{Name::images, codes({0, 51, 102, 153, 204, 255, 10, 20})},
                           {Name::order, bytes_of(std::vector<std::uint32_t>{2, 0, 3, 1})},
                           {Name::control, bytes_of(std::vector{control})}},
                          Name::output);
  EXPECT_EQ(x, (Values{10 / 255.0, 20 / 255.0, 102 / 255.0, 153 / 255.0, 204 / 255.0, 1}));
}

TEST(Reference, AddsElementByElement) {
  const OpShape shape{.height = 1, .width = 3, .in_channels = 1};
  const Operands before{{Name::input, numbers({1, -2, 3})}, {Name::addend, numbers({0.5, 2, kNan})}};
  const Values y = result(Op::add_forward, shape, before, Name::output);
  EXPECT_EQ(y[0], 1.5);
  EXPECT_EQ(y[1], 0);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(Reference, ScalesByTheFactor) {
  OpShape shape{.batch = 2, .in_channels = 2};
  shape.factor = -0.125f;
  const Values y = result(Op::scale_forward, shape, {{Name::input, numbers({1, -2, 0, kNan})}}, Name::output);
  EXPECT_EQ((Values{y.begin(), y.begin() + 3}), (Values{-0.125, 0.25, 0}));
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(result(Op::scale_backward, shape, {{Name::output_gradient, numbers({8, 0, 3, -4})}},
                   Name::input_gradient),
            (Values{-1, 0, -0.375, 0.5}));
}

bool has_factor(Op op) {
  return std::ranges::count(ops::contract(op).parameters, ops::Parameter::factor) > 0;
}

TEST(Reference, RefusesAFactorThatIsZeroOrNotFinite) {
  OpShape shape;
  for (const float factor : {0.0f, static_cast<float>(kNan), std::numeric_limits<float>::infinity()}) {
    shape.factor = factor;
    for (const ops::Variant& variant : *ops::built_in_variants()) {
      if (!has_factor(variant.op)) continue;
      EXPECT_NE(variant.refuses(shape), "") << to_string(variant.op) << " " << variant.name << " " << factor;
    }
  }
}

TEST(Reference, WeighsTheHeadsGradientAndPassesOnALossThatIsNoNumber) {
  const OpShape shape{.batch = 1, .in_channels = 2};
  ops::step::StepControl control;
  control.joint = 0.25f;
  Operands before{{Name::output_gradient, numbers({4, -2})},
                  {Name::control, bytes_of(std::vector{control})},
                  {Name::head_loss, numbers({2.5})},
                  {Name::loss, numbers({0.125})}};
  EXPECT_EQ(result(Op::joint_weigh, shape, before, Name::gradient), (Values{1, -0.5}));
  EXPECT_EQ(result(Op::joint_weigh, shape, before, Name::loss), (Values{0.125}));
  before[Name::head_loss] = numbers({kNan});
  EXPECT_TRUE(std::isnan(result(Op::joint_weigh, shape, before, Name::loss).front()));
}

void expect_near(const Values& values, const Values& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-14) << i;
}

TEST(Reference, LayerNormTakesMeanAndDeviationOverTheChannelsOfEachPosition) {
  const OpShape shape{.height = 1, .width = 2, .in_channels = 2};
  const Operands after = run_reference(Op::layer_norm_forward, shape,
                                       {{Name::input, numbers({1, 3, 20, 10})},
                                        {Name::weights, numbers({2, -1})},
                                        {Name::bias, numbers({0.5, 8})}});
  const double near = 1 / std::sqrt(1 + 1e-5);
  const double far = 1 / std::sqrt(25 + 1e-5);
  expect_near(operand_values(Op::layer_norm_forward, after, Name::output, core::Precision::fp64),
              {0.5 - 2 * near, 8 - near, 0.5 + 2 * 5 * far, 8 + 5 * far});
  expect_near(operand_values(Op::layer_norm_forward, after, Name::statistics, core::Precision::fp64),
              {2, 15, near, far});
}

TEST(Reference, LayerNormOfOneChannelIsBeta) {
  const OpShape shape{.height = 1, .width = 3, .in_channels = 1};
  const Operands before{
      {Name::input, numbers({7, -1e6, 0})}, {Name::weights, numbers({3})}, {Name::bias, numbers({0.25})}};
  EXPECT_EQ(result(Op::layer_norm_forward, shape, before, Name::output), (Values{0.25, 0.25, 0.25}));
}

TEST(Reference, LayerNormGradientsFollowTheFormula) {
  // Normalised: -0.5 and 1.5; gradients times gamma: 1 and 5, whose mean is 3, and (-0.5 + 7.5) / 2 = 3.5.
  const OpShape shape{.in_channels = 2};
  const Operands before{{Name::input, numbers({0, 4})},
                        {Name::output_gradient, numbers({0.5, -5})},
                        {Name::weights, numbers({2, -1})},
                        {Name::statistics, numbers({1, 0.5})}};
  EXPECT_EQ(result(Op::layer_norm_backward_input, shape, before, Name::input_gradient),
            (Values{0.5 * (1 - 3 + 0.5 * 3.5), 0.5 * (5 - 3 - 1.5 * 3.5)}));
  const OpShape two{.height = 2, .in_channels = 2};
  const Operands positions{{Name::input, numbers({0, 4, 6, 3})},
                           {Name::output_gradient, numbers({0.5, -5, 1, 2})},
                           {Name::statistics, numbers({1, 5, 0.5, 2})}};
  EXPECT_EQ(result(Op::layer_norm_backward_weights, two, positions, Name::weights_gradient),
            (Values{0.5 * -0.5 + 1 * 2, -5 * 1.5 + 2 * -4}));
  EXPECT_EQ(result(Op::layer_norm_backward_weights, two, positions, Name::bias_gradient), (Values{1.5, -3}));
}

TEST(Reference, BatchNormTakesMeanAndDeviationOfEachChannelOverTheBatch) {
  const OpShape shape{.batch = 2, .height = 1, .width = 2, .in_channels = 2};
  const Operands after = run_reference(Op::batch_norm_forward, shape,
                                       {{Name::input, numbers({1, 6, 3, 6, 1, 6, 3, 6})},
                                        {Name::weights, numbers({2, 5})},
                                        {Name::bias, numbers({0.5, -3})}});
  const double factor = 1 / std::sqrt(1 + 1e-5);
  const double low = 0.5 - 2 * factor;
  const double high = 0.5 + 2 * factor;
  expect_near(operand_values(Op::batch_norm_forward, after, Name::output, core::Precision::fp64),
              {low, -3, high, -3, low, -3, high, -3});
  expect_near(operand_values(Op::batch_norm_forward, after, Name::statistics, core::Precision::fp64),
              {2, 6, factor, 1 / std::sqrt(1e-5)});
}

TEST(Reference, BatchNormInfersWithTheRunningMoments) {
  const OpShape shape{.batch = 2, .in_channels = 2};
  expect_near(result(Op::batch_norm_infer, shape,
                     {{Name::input, numbers({1, 2, 3, 4})},
                      {Name::weights, numbers({1, -1})},
                      {Name::bias, numbers({0, 10})},
                      {Name::running_mean, numbers({-1, 0})},
                      {Name::running_variance, numbers({4 - 1e-5, 1 - 1e-5})}},
                     Name::output),
              {1, 8, 2, 6});
}

TEST(Reference, BatchNormGradientsFollowTheFormula) {
  // Normalised: -1 and 3; the gradients' sum is 6, that of their products 2 * -1 + 4 * 3 = 10.
  const OpShape shape{.batch = 2, .in_channels = 1};
  const Operands before{{Name::input, numbers({0, 2})},
                        {Name::output_gradient, numbers({2, 4})},
                        {Name::weights, numbers({0.25})},
                        {Name::statistics, numbers({0.5, 2})}};
  const Operands after = run_reference(Op::batch_norm_backward, shape, before);
  EXPECT_EQ(after[Name::weights_gradient], numbers({10}));
  EXPECT_EQ(after[Name::bias_gradient], numbers({6}));
  EXPECT_EQ(after[Name::input_gradient], numbers({0.5 * (2 - 3 + 1 * 5), 0.5 * (4 - 3 - 3 * 5)}));
}

TEST(Reference, BatchNormInPiecesIsTheSame) {
  const OpShape shape{.batch = 2, .in_channels = 1};
  EXPECT_EQ(result(Op::batch_norm_moments, shape, {{Name::input, numbers({1, 5})}}, Name::moments),
            (Values{3, 4}));
  expect_near(
      result(Op::batch_norm_allreduce_moments, shape, {{Name::moments, numbers({3, 4})}}, Name::statistics),
      {3, 1 / std::sqrt(4 + 1e-5)});
  Operands before{{Name::input, numbers({0, 2})},
                  {Name::output_gradient, numbers({2, 4})},
                  {Name::weights, numbers({0.25})},
                  {Name::statistics, numbers({0.5, 2})}};
  const Operands sums = run_reference(Op::batch_norm_backward_sums, shape, before);
  EXPECT_EQ(sums[Name::weights_gradient], numbers({10}));
  EXPECT_EQ(sums[Name::bias_gradient], numbers({6}));
  // As if another rank had given as much again of the one, and none of the other.
  before[Name::weights_gradient] = numbers({20});
  before[Name::bias_gradient] = numbers({3});
  EXPECT_EQ(result(Op::batch_norm_backward_input, shape, before, Name::input_gradient),
            (Values{0.5 * (2 - 1.5 + 1 * 10), 0.5 * (4 - 1.5 - 3 * 10)}));
  EXPECT_EQ(result(Op::batch_norm_allreduce_sums, shape, before, Name::weights_gradient), (Values{20}));
}

/// Running mean and variance of one channel after batch_norm.track; before, they are 10 and 20.
Values tracked(int positions, double mean, double variance, std::uint32_t halted = 0) {
  ops::step::StepControl control;
  control.halted = halted;
  const OpShape shape{.batch = positions, .in_channels = 1};
  const Operands after = run_reference(Op::batch_norm_track, shape,
                                       {{Name::statistics, numbers({mean, 1 / std::sqrt(variance + 1e-5)})},
                                        {Name::control, bytes_of(std::vector{control})},
                                        {Name::running_mean, numbers({10})},
                                        {Name::running_variance, numbers({20})}});
  return {operand_values(Op::batch_norm_track, after, Name::running_mean, core::Precision::fp64)[0],
          operand_values(Op::batch_norm_track, after, Name::running_variance, core::Precision::fp64)[0]};
}

TEST(Reference, BatchNormTracksTheVarianceWithoutBias) {
  expect_near(tracked(4, 30, 9), {12, 18 + 0.1 * 9 * 4 / 3});
  expect_near(tracked(1, 30, 0), {12, 18});
}

TEST(Reference, BatchNormTracksNothingThatIsNotFiniteAndNothingOnceHalted) {
  EXPECT_EQ(tracked(4, kNan, 9), (Values{10, 20}));
  EXPECT_EQ(tracked(4, 30, kNan), (Values{10, 20}));
  EXPECT_EQ(tracked(4, 30, std::numeric_limits<double>::infinity()), (Values{10, 20}));
  EXPECT_EQ(tracked(4, 30, 9, 1), (Values{10, 20}));
}

}  // namespace
}  // namespace warpscope::verify::reference_test
