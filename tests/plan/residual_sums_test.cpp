// Sums where two paths of a network meet, inside the calls beside them: forward behind a batch norm, backward in the
// gradient of a convolution's input.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/chains.h"
#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"

namespace warpscope::plan::residual_sums_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;
using enum models::LayerKind;

models::Model classifying(std::vector<models::Layer> layers) {
  return plan::classifying(
      {.name = "own", .height = 12, .width = 16, .channels = 3, .layers = std::move(layers)});
}

models::Layer convolution(const std::string& name, int kernel = 3) {
  return {.kind = conv2d, .name = name, .out_channels = 64, .kernel = kernel, .bias = false};
}

/// Two paths from pool1 that meet in add1, one of them two convolutions of this size.
models::Model residual(int kernel = 3) {
  return classifying({convolution("conv1"),
                      {.kind = batch_norm, .name = "bn1"},
                      {.kind = relu, .name = "relu1"},
                      {.kind = maxpool2d, .name = "pool1", .kernel = 2},
                      convolution("conv2", kernel),
                      {.kind = batch_norm, .name = "bn2"},
                      {.kind = relu, .name = "relu2"},
                      convolution("conv3", kernel),
                      {.kind = batch_norm, .name = "bn3"},
                      {.kind = relu, .name = "relu3"},
                      {.kind = add, .name = "add1", .from = "pool1"},
                      convolution("conv4")});
}

Selection in(Precision precision) {
  Selection selection;
  selection.precision = precision;
  return selection;
}

/// Where a batch norm sums: on the CPU by two variants made for it.
std::vector<CoverCase> sum_cases() {
  std::vector<Variant> summing;
  for (const Op op : {Op::batch_norm_forward, Op::batch_norm_infer})
    summing.push_back(chain_variant(op, "summing", ops::relu_and_sum_after(op)));
  return cover_cases(summing);
}

TEST(ResidualSums, ABatchNormAddsInInference) {
  for (const CoverCase& on : sum_cases()) {
    const Program program = program_of(residual(), Purpose::inference);
    const auto nodes = plan::cover(program, {}, {on.device, on.variants});
    expect_consistent(program, nodes);
    const std::size_t own = index_of(program, Op::batch_norm_infer, "bn3");
    const Node& sum = program.nodes[index_of(program, Op::add_forward, "add1")];
    const NodeCover& call = nodes[own];
    EXPECT_EQ(call.shape.covered, (OpSet{Op::relu_forward, Op::add_forward}));
    EXPECT_EQ(call.reason, "");
    EXPECT_EQ(tensor_of(call.operands, Name::input), program.nodes[own].tensors[0]);
    EXPECT_EQ(tensor_of(call.operands, Name::addend), sum.tensors[1]);
    EXPECT_EQ(tensor_of(call.operands, Name::output), sum.tensors[2]);
    EXPECT_EQ(tensor_of(call.operands, Name::activated), -1) << "nobody stores it";
    EXPECT_EQ(node_of(program, nodes, Op::add_forward, "add1").covered_by, static_cast<int>(own));
    EXPECT_EQ(node_of(program, nodes, Op::batch_norm_infer, "bn2").shape.covered, OpSet{Op::relu_forward});
  }
}

TEST(ResidualSums, WhatTheReluGaveIsStoredWhereItIsRead) {
  for (const CoverCase& on : sum_cases()) {
    for (const Purpose purpose : {Purpose::training, Purpose::inspection}) {
      const bool trains = purpose == Purpose::training;
      const Program program = program_of(residual(), purpose);
      const auto nodes = plan::cover(program, {}, {on.device, on.variants});
      expect_consistent(program, nodes);
      EXPECT_NE(node_of(program, nodes, Op::add_forward, "add1").variant, nullptr);
      const NodeCover& norm =
          node_of(program, nodes, trains ? Op::batch_norm_forward : Op::batch_norm_infer, "bn3");
      EXPECT_FALSE(norm.shape.covered.has(Op::add_forward));
      const bool told = norm.reason.find("reads relu3") != std::string::npos;
      EXPECT_TRUE(told || !trains) << norm.reason;
    }
  }
}

TEST(ResidualSums, WhatIsAddedToItselfIsStored) {
  for (const CoverCase& on : sum_cases()) {
    const models::Model model = classifying({convolution("conv1"),
                                             {.kind = batch_norm, .name = "bn1"},
                                             {.kind = relu, .name = "relu1"},
                                             {.kind = add, .name = "add1", .from = "relu1"},
                                             convolution("conv2")});
    const Program program = program_of(model, Purpose::inference);
    const auto nodes = plan::cover(program, {}, {on.device, on.variants});
    expect_consistent(program, nodes);
    EXPECT_NE(node_of(program, nodes, Op::add_forward, "add1").variant, nullptr);
    EXPECT_FALSE(node_of(program, nodes, Op::batch_norm_infer, "bn1").shape.covered.has(Op::add_forward));
  }
}

TEST(ResidualSums, AConvolutionAddsTheOtherGradient) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for GPUs";
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    const Program program = program_of(residual(), Purpose::training, precision);
    const auto nodes = cover(program, in(precision), gpu(90));
    expect_consistent(program, nodes);
    const std::size_t own = index_of(program, Op::conv2d_backward_input, "conv2");
    const Node& sum = program.nodes[index_of(program, Op::add_forward, "pool1")];
    const Node& mask = program.nodes[index_of(program, Op::relu_backward, "relu1")];
    const NodeCover& call = nodes[own];
    ASSERT_NE(call.variant, nullptr);
    EXPECT_EQ(call.variant->name, "hopper");
    EXPECT_EQ(call.shape.covered, (OpSet{Op::add_forward, Op::relu_backward}));
    EXPECT_EQ(call.reason, "");
    EXPECT_EQ(tensor_of(call.operands, Name::addend), sum.tensors[1]);
    EXPECT_EQ(tensor_of(call.operands, Name::input), mask.tensors[0]);
    EXPECT_EQ(tensor_of(call.operands, Name::input_gradient), mask.tensors[2]);
    EXPECT_EQ(tensor_of(call.operands, Name::product), -1) << "nobody stores it";
    EXPECT_EQ(node_of(program, nodes, Op::add_forward, "pool1").covered_by, static_cast<int>(own));
    const NodeCover& behind = node_of(program, nodes, Op::conv2d_backward_input, "conv4");
    EXPECT_FALSE(behind.shape.covered.has(Op::relu_backward))
        << "both paths read its gradient, without a mask";
  }
}

TEST(ResidualSums, ConvolutionsOfOtherSizesAddItToo) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for GPUs";
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    for (const models::LayerKind kind : {relu, gelu}) {
      models::Model model = residual(5);
      model.layers[2].kind = kind;
      std::erase_if(model.layers, [](const models::Layer& layer) { return layer.pools(); });
      for (models::Layer& layer : model.layers) {
        if (layer.kind == add) layer.from = "relu1";
      }
      models::fit_layers(model);
      const Program program = program_of(model, Purpose::training, precision);
      const auto nodes = cover(program, in(precision), gpu(90));
      expect_consistent(program, nodes);
      const Op derivative = kind == gelu ? Op::gelu_backward : Op::relu_backward;
      const std::size_t own = index_of(program, Op::conv2d_backward_input, "conv2");
      const Node& sum = program.nodes[index_of(program, Op::add_forward, "relu1")];
      const Node& mask = program.nodes[index_of(program, derivative, "relu1")];
      const NodeCover& call = nodes[own];
      ASSERT_NE(call.variant, nullptr);
      EXPECT_EQ(call.variant->name, "hopper_general");
      EXPECT_EQ(call.shape.covered, (OpSet{Op::add_forward, derivative}));
      EXPECT_EQ(call.reason, "");
      EXPECT_EQ(tensor_of(call.operands, Name::addend), sum.tensors[1]);
      EXPECT_EQ(tensor_of(call.operands, kind == gelu ? Name::unactivated : Name::input), mask.tensors[0]);
      EXPECT_EQ(tensor_of(call.operands, Name::input_gradient), mask.tensors[2]);
      EXPECT_EQ(tensor_of(call.operands, Name::product), -1) << "nobody stores it";
      EXPECT_EQ(node_of(program, nodes, Op::add_forward, "relu1").covered_by, static_cast<int>(own));
    }
  }
}

TEST(ResidualSums, OtherVariantsLeaveTheAdditionAlone) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for GPUs";
  const Program program = program_of(residual(5), Purpose::training, Precision::bf16);
  const auto by_fused = cover(program, in(Precision::bf16), gpu(80));
  expect_consistent(program, by_fused);
  EXPECT_NE(node_of(program, by_fused, Op::add_forward, "pool1").variant, nullptr);
  EXPECT_TRUE(node_of(program, by_fused, Op::conv2d_backward_input, "conv2").shape.covered.empty());
  Selection chosen = in(Precision::bf16);
  chosen.variants[Op::conv2d_backward_input] = "hopper";
  const auto by_hopper = cover(program, chosen, gpu(90));
  const std::string& reason = node_of(program, by_hopper, Op::conv2d_backward_input, "conv2").reason;
  EXPECT_NE(reason.find("adds a gradient in 3x3 layers"), std::string::npos) << reason;
}

/// relu1, whose input a block of a convolution and `norm`, if there is one, gives, is added to what comes of it, before
/// an activation.
models::Model residual_before(models::LayerKind activation, bool norms) {
  std::vector<models::Layer> layers{
      convolution("conv1"), {.kind = relu, .name = "relu1"}, convolution("conv2", 5)};
  if (norms) layers.push_back({.kind = batch_norm, .name = "bn2"});
  layers.push_back({.kind = add, .name = "add1", .from = "relu1"});
  layers.push_back({.kind = activation, .name = "act2"});
  layers.push_back(convolution("conv3", 5));
  return classifying(std::move(layers));
}

/// The call of `own` covers the addition add1 and the activation act2, and stores what GELU's gradient reads.
void expect_sum_and_activation(const Program& program, const std::vector<NodeCover>& nodes, std::size_t own,
                               bool gelus, bool trains) {
  expect_consistent(program, nodes);
  const Op op = gelus ? Op::gelu_forward : Op::relu_forward;
  const Node& sum = program.nodes[index_of(program, Op::add_forward, "add1")];
  const Node& after = program.nodes[index_of(program, op, "act2")];
  const NodeCover& call = nodes[own];
  ASSERT_NE(call.variant, nullptr);
  EXPECT_TRUE(call.shape.covered.has(op)) << describe(call);
  EXPECT_EQ(call.reason, "");
  EXPECT_EQ(tensor_of(call.operands, Name::addend), sum.tensors[1]);
  EXPECT_EQ(tensor_of(call.operands, Name::output), after.tensors[1]);
  EXPECT_EQ(tensor_of(call.operands, Name::unactivated), gelus && trains ? sum.tensors[2] : -1);
  EXPECT_EQ(nodes[index_of(program, op, "act2")].covered_by, static_cast<int>(own));
}

TEST(ResidualSums, ABatchNormCoversASumAndItsActivation) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for GPUs";
  for (const models::LayerKind activation : {relu, gelu}) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const bool trains = purpose == Purpose::training;
      const Program program = program_of(residual_before(activation, true), purpose, Precision::bf16);
      const auto nodes = cover(program, in(Precision::bf16), gpu(80));
      const std::size_t own =
          index_of(program, trains ? Op::batch_norm_forward : Op::batch_norm_infer, "bn2");
      expect_sum_and_activation(program, nodes, own, activation == gelu, trains);
      EXPECT_EQ(nodes[own].variant->name, "summed");
      EXPECT_TRUE(nodes[own].shape.covered.has(Op::add_forward));
      EXPECT_EQ(nodes[own].shape.covered.has(Op::batch_norm_track), trains);
    }
  }
}

TEST(ResidualSums, AConvolutionCoversItsNormASumAndTheActivation) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for GPUs";
  for (const models::LayerKind activation : {relu, gelu}) {
    const Program program = program_of(residual_before(activation, true), Purpose::training, Precision::bf16);
    const auto nodes = cover(program, in(Precision::bf16), gpu(90));
    const std::size_t own = index_of(program, Op::conv2d_forward, "conv2");
    expect_sum_and_activation(program, nodes, own, activation == gelu, true);
    const Op after = activation == gelu ? Op::gelu_forward : Op::relu_forward;
    EXPECT_EQ(nodes[own].variant->name, "hopper_general_summed");
    EXPECT_EQ(nodes[own].shape.covered,
              (OpSet{Op::batch_norm_forward, Op::batch_norm_track, Op::add_forward, after}));
  }
}

TEST(ResidualSums, AnAdditionCoversItsActivation) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for GPUs";
  for (const models::LayerKind activation : {relu, gelu}) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Program program = program_of(residual_before(activation, false), purpose, Precision::bf16);
      const auto nodes = cover(program, in(Precision::bf16), gpu(80));
      const std::size_t own = index_of(program, Op::add_forward, "add1");
      expect_sum_and_activation(program, nodes, own, activation == gelu, purpose == Purpose::training);
      EXPECT_EQ(tensor_of(nodes[own].operands, Name::input), program.nodes[own].tensors[0]);
    }
  }
}

TEST(ResidualSums, WhatIsUpsampledIsStillInTheCall) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for GPUs";
  const models::Model model = classifying({convolution("conv1"),
                                           {.kind = relu, .name = "relu1"},
                                           {.kind = upsample2d, .name = "up"},
                                           convolution("conv2"),
                                           {.kind = relu, .name = "relu2"},
                                           {.kind = maxpool2d, .name = "pool2", .kernel = 2},
                                           {.kind = add, .name = "add1", .from = "relu1"}});
  const Program program = program_of(model, Purpose::training, Precision::bf16);
  const auto nodes = cover(program, in(Precision::bf16), gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& call = node_of(program, nodes, Op::conv2d_backward_input, "conv2");
  ASSERT_NE(call.variant, nullptr);
  EXPECT_TRUE(call.shape.covered.has(Op::upsample2d_backward));
  EXPECT_FALSE(call.shape.covered.has(Op::add_forward));
  EXPECT_NE(call.reason.find("not upsampled"), std::string::npos) << call.reason;
}

}  // namespace
}  // namespace warpscope::plan::residual_sums_test
