// Activations that calls of products cover, and what their derivatives read: GELU's its input, which is stored where
// somebody reads it.

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/chains.h"
#include "gpu/plan/chain_match.h"
#include "tests/plan/cover_support.h"
#include "tests/support/tiny.h"

namespace warpscope::plan::activations_test {
namespace {

using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;

/// conv1, gelu1, pool1, conv2, gelu2, up2, conv3.
models::Model with_gelu() {
  models::Model model = tests::tiny_model();
  for (models::Layer& layer : model.layers) {
    if (layer.kind == models::LayerKind::relu) layer.kind = models::LayerKind::gelu;
  }
  return model;
}

Variant forward() {
  Variant made =
      chain_variant(Op::conv2d_forward, "epilogue", ops::bias_and_activation_after(Op::conv2d_forward));
  made.stored_for_others = {Name::unactivated};
  return made;
}

TEST(Activations, WhatTheDerivativeReadsIsStoredInTraining) {
  const Program program = program_of(with_gelu());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const Node& gelu = program.nodes[index_of(program, Op::gelu_forward, "relu1")];
  const ChainMatch match = match_chain(program, conv, forward(), {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::gelu_forward}));
  EXPECT_EQ(tensor_of(match.operands, Name::unactivated), gelu.tensors[0]);
  EXPECT_EQ(tensor_of(match.operands, Name::output), gelu.tensors[1]);
}

TEST(Activations, NothingIsStoredThatNobodyReads) {
  const Program program = program_of(with_gelu(), Purpose::inference);
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const ChainMatch match = match_chain(program, conv, forward(), {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::gelu_forward}));
  EXPECT_EQ(tensor_of(match.operands, Name::unactivated), -1);
  EXPECT_EQ(match.operands.size(), 4u) << "input, weights, bias, output";
}

TEST(Activations, WhatIsShownIsStoredAllTheSame) {
  Program program = program_of(with_gelu(), Purpose::inference);
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const int shown = program.nodes[index_of(program, Op::gelu_forward, "relu1")].tensors[0];
  program.tensors[static_cast<std::size_t>(shown)].kept = true;
  EXPECT_EQ(tensor_of(match_chain(program, conv, forward(), {}, {}).operands, Name::unactivated), shown);
}

TEST(Activations, ReluStoresNothing) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const ChainMatch match = match_chain(program, conv, forward(), {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(match.operands.size(), 4u);
}

TEST(Activations, AGradientCoversTheDerivativeBeforeIt) {
  std::vector<ops::Link> chain{
      {.op = Op::conv2d_backward_input, .renames = {{Name::input_gradient, Name::unmasked_gradient}}}};
  for (ops::Link& each : ops::derivative_after(ops::input_shape)) chain.push_back(std::move(each));
  const Variant backward = chain_variant(Op::conv2d_backward_input, "epilogue", std::move(chain));
  const models::Model tiny = tests::tiny_model();
  for (models::Model model : {tiny, with_gelu()}) {
    const bool gelu = model.layers[1].kind == models::LayerKind::gelu;
    std::erase_if(model.layers, [](const auto& layer) { return layer.pools(); });
    const Program program = program_of(model);
    const Op op = gelu ? Op::gelu_backward : Op::relu_backward;
    const std::size_t conv = index_of(program, Op::conv2d_backward_input, "conv2");
    const Node& derivative = program.nodes[index_of(program, op, "relu1")];
    const ChainMatch match = match_chain(program, conv, backward, {}, {});
    EXPECT_EQ(match.covered, OpSet{op});
    EXPECT_EQ(tensor_of(match.operands, gelu ? Name::unactivated : Name::input), derivative.tensors[0]);
    EXPECT_EQ(tensor_of(match.operands, Name::input_gradient), derivative.tensors[2]);
  }
}

TEST(Activations, TheGradientOfAMeanCoversTheDerivativeBeforeIt) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for a GPU";
  using enum models::LayerKind;
  for (const models::LayerKind activation : {relu, gelu}) {
    models::Model model{.name = "own", .height = 12, .width = 16, .channels = 3, .layers = {}};
    model.layers = {{.kind = conv2d, .name = "conv1", .out_channels = 40, .kernel = 3},
                    {.kind = batch_norm, .name = "bn1"},
                    {.kind = activation, .name = "act1"},
                    {.kind = global_average_pool, .name = "mean1"}};
    constexpr auto kPrecision = core::Precision::bf16;
    const Program program = program_of(classifying(std::move(model)), Purpose::training, kPrecision);
    const auto nodes = cover(program, {kPrecision, {}}, {gpu(80), *ops::built_in_variants()});
    expect_consistent(program, nodes);
    const bool gelus = activation == gelu;
    const Op op = gelus ? Op::gelu_backward : Op::relu_backward;
    const Node& derivative = program.nodes[index_of(program, op, "act1")];
    const NodeCover& call = node_of(program, nodes, Op::global_average_pool_backward, "mean1");
    EXPECT_EQ(call.shape.covered, OpSet{op});
    EXPECT_EQ(tensor_of(call.operands, gelus ? Name::unactivated : Name::input), derivative.tensors[0]);
    EXPECT_EQ(tensor_of(call.operands, Name::input_gradient), derivative.tensors[2]);
  }
}

TEST(Activations, AreCoveredOnAGpuInBothPasses) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no variants for a GPU";
  using enum models::LayerKind;
  const models::Model model{"mlp",
                            4,
                            4,
                            3,
                            {{linear, "fc1", 48, 16}, {gelu, "gelu1"}, {linear, "fc2", 16, 8}},
                            models::Loss::cross_entropy,
                            8};
  constexpr auto kPrecision = core::Precision::tf32;
  const Program program = program_of(model, Purpose::training, kPrecision);
  const auto nodes = cover(program, {kPrecision, {}}, {gpu(80), *ops::built_in_variants()});
  expect_consistent(program, nodes);
  const auto ops = launches(program, nodes);
  EXPECT_EQ(std::ranges::count(ops, Op::gelu_forward), 0);
  EXPECT_EQ(std::ranges::count(ops, Op::gelu_backward), 0);
}

}  // namespace
}  // namespace warpscope::plan::activations_test
