// A layer norm and the max pooling behind it in one call: which ops the variant `pooled` covers, and what it reads and
// writes.

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"

namespace warpscope::plan::pooled_layer_norm_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpSet;

class PooledLayerNorm : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  }
};

/// conv1, norm1, relu1 and pool1 in one dimension, whose windows of three drop a position; a norm without a pooling.
models::Model pooled_norm() {
  using enum models::LayerKind;
  models::Model model{.name = "own", .height = 1, .width = 40, .channels = 64, .layers = {}};
  model.layers = {{.kind = conv1d, .name = "conv1", .out_channels = 128, .kernel = 3},
                  {.kind = layer_norm, .name = "norm1"},
                  {.kind = relu, .name = "relu1"},
                  {.kind = maxpool1d, .name = "pool1", .kernel = 3},
                  {.kind = conv1d, .name = "conv2", .out_channels = 64, .kernel = 3},
                  {.kind = layer_norm, .name = "norm2"},
                  {.kind = relu, .name = "relu2"}};
  return classifying(std::move(model));
}

/// The tensor that the op of `layer` calls `name`.
int tensor_of(const Program& program, Op op, const std::string& layer, Name name) {
  const auto operands = ops::contract(op).operands;
  const auto found =
      std::find_if(operands.begin(), operands.end(), [&](const auto& each) { return each.name == name; });
  return program.nodes[index_of(program, op, layer)]
      .tensors[static_cast<std::size_t>(found - operands.begin())];
}

TEST_F(PooledLayerNorm, APoolingBehindALayerNormRunsInItsCall) {
  using enum Op;
  const Program program = program_of(pooled_norm(), Purpose::training, Precision::fp16);
  const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(90));
  expect_consistent(program, nodes);

  const NodeCover& forward = node_of(program, nodes, layer_norm_forward, "norm1");
  ASSERT_EQ(describe(forward), "pooled, with relu, maxpool2d");
  EXPECT_EQ(forward.shape.window_height, 1);
  EXPECT_EQ(forward.shape.window_width, 3);
  for (const Name name : {Name::input, Name::weights, Name::bias, Name::statistics}) {
    EXPECT_EQ(tensor_of(forward.operands, name), tensor_of(program, layer_norm_forward, "norm1", name));
  }
  EXPECT_EQ(tensor_of(forward.operands, Name::output),
            tensor_of(program, maxpool2d_forward, "pool1", Name::output));
  EXPECT_EQ(tensor_of(forward.operands, Name::argmax),
            tensor_of(program, maxpool2d_forward, "pool1", Name::argmax));
  EXPECT_EQ(forward.operands.size(), 6u);

  const NodeCover& backward = node_of(program, nodes, layer_norm_backward_weights, "norm1");
  EXPECT_EQ(backward.variant->name, "pooled");
  EXPECT_EQ(backward.shape.covered, (OpSet{maxpool2d_backward, layer_norm_backward_input}));
  EXPECT_EQ(backward.shape.window_width, 3);
  for (const Name name : {Name::output_gradient, Name::argmax}) {
    EXPECT_EQ(tensor_of(backward.operands, name), tensor_of(program, maxpool2d_backward, "pool1", name));
  }
  for (const Name name : {Name::input, Name::statistics, Name::weights_gradient, Name::bias_gradient}) {
    EXPECT_EQ(tensor_of(backward.operands, name),
              tensor_of(program, layer_norm_backward_weights, "norm1", name));
  }
  for (const Name name : {Name::weights, Name::input_gradient}) {
    EXPECT_EQ(tensor_of(backward.operands, name),
              tensor_of(program, layer_norm_backward_input, "norm1", name));
  }
  EXPECT_EQ(node_of(program, nodes, maxpool2d_backward, "pool1").variant, nullptr);

  const NodeCover& other = node_of(program, nodes, layer_norm_forward, "norm2");
  EXPECT_EQ(describe(other), "warp_shuffle, with relu");
  EXPECT_EQ(other.reason, "") << "nobody expects a pooling there";
  const NodeCover& gradients = node_of(program, nodes, layer_norm_backward_weights, "norm2");
  EXPECT_EQ(describe(gradients), "warp_shuffle_fused, with layer_norm.backward_input");
  EXPECT_EQ(gradients.reason, "");
}

TEST_F(PooledLayerNorm, AllGradientsOfALayerNormAreOneCall) {
  using enum Op;
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    models::Model model = pooled_norm();
    std::erase_if(model.layers, [](const models::Layer& layer) { return layer.pools(); });
    models::fit_layers(model);
    const Program program = program_of(model, Purpose::training, precision);
    const auto nodes = cover(program, Selection{precision, {}}, gpu(80));
    expect_consistent(program, nodes);
    for (const char* const layer : {"norm1", "norm2"}) {
      const std::size_t own = index_of(program, layer_norm_backward_weights, layer);
      const NodeCover& call = nodes[own];
      ASSERT_EQ(describe(call), "warp_shuffle_fused, with layer_norm.backward_input");
      for (const Name name : {Name::input, Name::output_gradient, Name::statistics, Name::weights_gradient,
                              Name::bias_gradient}) {
        EXPECT_EQ(tensor_of(call.operands, name),
                  tensor_of(program, layer_norm_backward_weights, layer, name));
      }
      for (const Name name : {Name::weights, Name::input_gradient}) {
        EXPECT_EQ(tensor_of(call.operands, name), tensor_of(program, layer_norm_backward_input, layer, name));
      }
      EXPECT_EQ(node_of(program, nodes, layer_norm_backward_input, layer).covered_by, static_cast<int>(own));
    }
  }
}

TEST_F(PooledLayerNorm, ChannelsThatFillNoRegistersAreNoReason) {
  models::Model model = pooled_norm();
  std::erase_if(model.layers, [](const models::Layer& layer) { return layer.pools(); });
  model.layers.front().out_channels = 513;
  models::fit_layers(model);
  const Program program = program_of(model, Purpose::training, Precision::fp16);
  const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& weights = node_of(program, nodes, Op::layer_norm_backward_weights, "norm1");
  EXPECT_EQ(describe(weights), "warp_shuffle");
  EXPECT_EQ(weights.reason, "");
  EXPECT_EQ(describe(node_of(program, nodes, Op::layer_norm_backward_input, "norm1")), "warp_shuffle");
}

TEST_F(PooledLayerNorm, AChosenGradientOfTheInputRunsByItself) {
  using enum Op;
  const Program program = program_of(pooled_norm(), Purpose::training, Precision::fp16);
  Selection selection{Precision::fp16, {}};
  selection.variants[layer_norm_backward_weights] = "pooled";
  selection.variants[layer_norm_backward_input] = "warp_shuffle";
  const auto nodes = cover(program, selection, gpu(90));
  expect_consistent(program, nodes);
  EXPECT_EQ(describe(node_of(program, nodes, layer_norm_backward_weights, "norm1")),
            "pooled, with maxpool2d.backward");
  EXPECT_EQ(describe(node_of(program, nodes, layer_norm_backward_input, "norm1")), "warp_shuffle");
  EXPECT_NE(node_of(program, nodes, maxpool2d_backward, "pool1").variant, nullptr)
      << "it reads what that writes";
}

TEST_F(PooledLayerNorm, AWideLayerNormIsRefusedInASentence) {
  models::Model model = pooled_norm();
  model.layers.front().out_channels = 513;
  models::fit_layers(model);
  const Program program = program_of(model, Purpose::training, Precision::fp16);
  Selection selection{Precision::fp16, {}};
  selection.variants[Op::layer_norm_forward] = "pooled";
  try {
    cover(program, selection, gpu(90));
    FAIL() << "accepted";
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("takes up to 512 channels"), std::string::npos) << error.what();
  }
}

TEST_F(PooledLayerNorm, WhatWasChosenAndHasNoPoolingBehindItIsTold) {
  const Program program = program_of(pooled_norm(), Purpose::training, Precision::fp16);
  Selection selection{Precision::fp16, {}};
  selection.variants[Op::layer_norm_forward] = "pooled";
  const auto nodes = cover(program, selection, gpu(90));
  expect_consistent(program, nodes);
  EXPECT_EQ(node_of(program, nodes, Op::layer_norm_forward, "norm2").reason,
            "not pooled: there is no maxpool2d.forward");
}

TEST_F(PooledLayerNorm, AWideLayerNormLeavesThePoolingToItself) {
  models::Model model = pooled_norm();
  model.layers.front().out_channels = 513;
  models::fit_layers(model);
  const Program program = program_of(model, Purpose::training, Precision::fp16);
  const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& forward = node_of(program, nodes, Op::layer_norm_forward, "norm1");
  EXPECT_EQ(describe(forward), "warp_shuffle, with relu");
  EXPECT_EQ(forward.shape.window_width, 1);
  EXPECT_EQ(forward.reason, "not pooled: takes up to 512 channels");
  EXPECT_NE(node_of(program, nodes, Op::maxpool2d_forward, "pool1").variant, nullptr);
  EXPECT_NE(node_of(program, nodes, Op::maxpool2d_backward, "pool1").variant, nullptr);
}

}  // namespace
}  // namespace warpscope::plan::pooled_layer_norm_test
