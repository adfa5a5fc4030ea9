// The first convolution of a network and the batch norm behind it in one call: which ops the variant `recomputed`
// covers, and where others run.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/batch_norm/recomputed.h"
#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"

namespace warpscope::plan::recomputed_batch_norm_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;
using enum models::LayerKind;

struct First {
  int channels = 3;
  int filters = 64;
  bool bias = false;
  bool pooled = true;
};

/// Two times a convolution, a batch norm and a ReLU, and a max pooling behind the second, and behind the first one too
/// or not: how classifiers and residual networks begin.
models::Model normed_network(const First& first) {
  models::Model model{.name = "own", .height = 9, .width = 12, .channels = first.channels, .layers = {}};
  model.layers = {
      {.kind = conv2d, .name = "conv1", .out_channels = first.filters, .kernel = 3, .bias = first.bias},
      {.kind = batch_norm, .name = "bn1"},
      {.kind = relu, .name = "relu1"}};
  if (first.pooled) model.layers.push_back({.kind = maxpool2d, .name = "pool1", .kernel = 2});
  const std::vector<models::Layer> rest{
      {.kind = conv2d, .name = "conv2", .out_channels = 20, .kernel = 3, .bias = false},
      {.kind = batch_norm, .name = "bn2"},
      {.kind = relu, .name = "relu2"},
      {.kind = maxpool2d, .name = "pool2", .kernel = 2}};
  model.layers.insert(model.layers.end(), rest.begin(), rest.end());
  return classifying(std::move(model));
}

/// Where `recomputed` is there: on the CPU among the variants that there are and three of that name.
struct RecomputedCase : CoverCase {
  Program program(const First& first, Purpose purpose = Purpose::training) const {
    return program_of(normed_network(first), purpose, precision);
  }
};

std::vector<RecomputedCase> recomputed_cases() {
  const std::vector<Variant> all{ops::built_in_variants()->begin(), ops::built_in_variants()->end()};
  RecomputedCase on_cpu{{cpu(), all}};
  const auto add = [&](Op op, std::vector<ops::Link> chain) {
    on_cpu.variants.push_back({.op = op,
                               .name = "recomputed",
                               .precisions = {Precision::fp32},
                               .chain = std::move(chain),
                               .summary = "",
                               .launch = [](const ops::OpCall&) {},
                               .refuses = ops::batch_norm::recomputed::refuses});
  };
  using namespace ops::batch_norm::recomputed;
  add(Op::batch_norm_forward, forward_chain(Op::batch_norm_forward));
  add(Op::batch_norm_infer, forward_chain(Op::batch_norm_infer));
  add(Op::batch_norm_backward, backward_chain());
  std::vector<RecomputedCase> cases{on_cpu};
  if (!has_gpu_variants()) return cases;
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    cases.push_back({{gpu(90), all, precision}});
  }
  return cases;
}

TEST(RecomputedBatchNorm, ComputesTheConvolutionAndWhatFollowsInOneCall) {
  for (const RecomputedCase& on : recomputed_cases()) {
    for (const bool pooled : {false, true}) {
      const Program program = on.program({.pooled = pooled});
      const auto nodes = on.cover(program);
      expect_consistent(program, nodes);
      const std::size_t own = index_of(program, Op::batch_norm_forward, "bn1");
      const Node& convolution = program.nodes[index_of(program, Op::conv2d_forward, "conv1")];
      const NodeCover& call = nodes[own];
      ASSERT_NE(call.variant, nullptr);
      EXPECT_EQ(call.variant->name, "recomputed");
      EXPECT_EQ(call.reason, "");
      OpSet covered{Op::conv2d_forward, Op::relu_forward};
      if (pooled) covered.add(Op::maxpool2d_forward);
      EXPECT_EQ(call.shape.covered, covered);
      EXPECT_EQ(call.shape.patch_channels, 3);
      EXPECT_EQ(call.shape.window_width, pooled ? 2 : 1);
      EXPECT_EQ(tensor_of(call.operands, Name::input), convolution.tensors[0]);
      EXPECT_EQ(tensor_of(call.operands, Name::weights), convolution.tensors[1]);
      EXPECT_EQ(tensor_of(call.operands, Name::norm_weights), program.nodes[own].tensors[1]);
      EXPECT_EQ(tensor_of(call.operands, Name::norm_bias), program.nodes[own].tensors[2]);
      EXPECT_EQ(tensor_of(call.operands, Name::product), -1) << "nobody stores it";
      EXPECT_EQ(node_of(program, nodes, Op::conv2d_forward, "conv1").covered_by, static_cast<int>(own));
    }
  }
}

TEST(RecomputedBatchNorm, MakesTheGradientOfTheWeightsInTheSameCall) {
  for (const RecomputedCase& on : recomputed_cases()) {
    for (const bool pooled : {false, true}) {
      const Program program = on.program({.pooled = pooled});
      const auto nodes = on.cover(program);
      const std::size_t own = index_of(program, Op::batch_norm_backward, "bn1");
      const std::size_t weights = index_of(program, Op::conv2d_backward_weights, "conv1");
      const Node& norm = program.nodes[own];
      const NodeCover& call = nodes[own];
      ASSERT_NE(call.variant, nullptr);
      EXPECT_EQ(call.variant->name, "recomputed");
      OpSet covered{Op::conv2d_forward, Op::conv2d_backward_weights};
      if (pooled) covered.add(Op::maxpool2d_backward);
      EXPECT_EQ(call.shape.covered, covered);
      EXPECT_EQ(tensor_of(call.operands, Name::weights_gradient), program.nodes[weights].tensors[2]);
      EXPECT_EQ(tensor_of(call.operands, Name::norm_weights_gradient), norm.tensors[5]);
      EXPECT_EQ(tensor_of(call.operands, Name::norm_bias_gradient), norm.tensors[6]);
      EXPECT_EQ(tensor_of(call.operands, Name::product_gradient), -1) << "nobody stores it";
      const int gradient = pooled
                               ? program.nodes[index_of(program, Op::maxpool2d_backward, "pool1")].tensors[0]
                               : norm.tensors[1];
      EXPECT_EQ(tensor_of(call.operands, Name::output_gradient), gradient);
      EXPECT_EQ(nodes[weights].covered_by, static_cast<int>(own));
    }
  }
}

TEST(RecomputedBatchNorm, RunsInInferenceToo) {
  for (const RecomputedCase& on : recomputed_cases()) {
    const Program program = on.program({}, Purpose::inference);
    const auto nodes = on.cover(program);
    expect_consistent(program, nodes);
    const NodeCover& norm = node_of(program, nodes, Op::batch_norm_infer, "bn1");
    EXPECT_EQ(norm.variant->name, "recomputed");
    EXPECT_EQ(norm.shape.covered, (OpSet{Op::conv2d_forward, Op::relu_forward, Op::maxpool2d_forward}));
    EXPECT_EQ(node_of(program, nodes, Op::conv2d_forward, "conv1").variant, nullptr);
  }
}

TEST(RecomputedBatchNorm, ACallNamesTheChannelsOfTheImage) {
  ops::OpShape shape{.batch = 8, .height = 9, .width = 12, .in_channels = 64};
  shape.covered = {Op::conv2d_forward, Op::maxpool2d_forward};
  shape.window_height = shape.window_width = 2;
  shape.patch_channels = 3;
  const std::string text = ops::describe(Op::batch_norm_forward, shape);
  EXPECT_EQ(text, "8x9x12x64; with conv2d, maxpool2d in windows of 2x2, from 3 channels");
  EXPECT_EQ(ops::by_itself(shape).patch_channels, 0);
}

/// Both batch norms of a training step, and why they run as they do.
void expect_others(const Program& program, const std::vector<NodeCover>& nodes, const char* layer,
                   const std::string& reason) {
  expect_consistent(program, nodes);
  for (const Op op : {Op::batch_norm_forward, Op::batch_norm_backward}) {
    const NodeCover& norm = node_of(program, nodes, op, layer);
    ASSERT_NE(norm.variant, nullptr);
    EXPECT_NE(norm.variant->name, "recomputed");
    EXPECT_EQ(norm.reason, reason) << ops::to_string(op) << " in " << layer;
  }
}

TEST(RecomputedBatchNorm, OthersRunInSilenceWhereNoSuchConvolutionIs) {
  for (const RecomputedCase& on : recomputed_cases()) {
    for (const First& first : {First{.channels = 5}, First{.bias = true}}) {
      const Program program = on.program(first);
      const auto nodes = on.cover(program);
      expect_others(program, nodes, "bn1", "");
      expect_others(program, nodes, "bn2", "");
      EXPECT_NE(node_of(program, nodes, Op::conv2d_forward, "conv1").variant, nullptr);
      EXPECT_EQ(node_of(program, nodes, Op::batch_norm_forward, "bn1").shape.patch_channels, 0);
    }
  }
}

TEST(RecomputedBatchNorm, OthersRunWithAReasonWhereTheShapeIsRefused) {
  for (const RecomputedCase& on : recomputed_cases()) {
    const Program program = on.program({.filters = 16});
    const auto nodes = on.cover(program);
    expect_others(program, nodes, "bn1", "not recomputed: takes filters in multiples of 32");
    EXPECT_NE(node_of(program, nodes, Op::conv2d_forward, "conv1").variant, nullptr);
  }
}

TEST(RecomputedBatchNorm, AGradientThatAnotherOpReadsIsStored) {
  models::Model model = normed_network({});
  model.layers.insert(model.layers.begin(),
                      {.kind = conv2d, .name = "conv0", .out_channels = 4, .kernel = 3});
  models::fit_layers(model);
  for (const RecomputedCase& on : recomputed_cases()) {
    const Program program = program_of(model, Purpose::training, on.precision);
    const auto nodes = on.cover(program);
    expect_consistent(program, nodes);
    const NodeCover& forward = node_of(program, nodes, Op::batch_norm_forward, "bn1");
    EXPECT_EQ(forward.variant->name, "recomputed");
    EXPECT_EQ(forward.shape.patch_channels, 4);
    const NodeCover& backward = node_of(program, nodes, Op::batch_norm_backward, "bn1");
    EXPECT_NE(backward.variant->name, "recomputed");
    EXPECT_NE(backward.reason.find("not recomputed: conv2d.backward_input in conv1 reads"), std::string::npos)
        << backward.reason;
    EXPECT_NE(node_of(program, nodes, Op::conv2d_forward, "conv1").variant, nullptr) << "who else reads it";
  }
}

TEST(RecomputedBatchNorm, AChosenConvolutionRunsByItself) {
  for (const RecomputedCase& on : recomputed_cases()) {
    const Program program = on.program({});
    Selection selection;
    const char* name = on.device.kind == core::DeviceKind::cuda ? "narrow" : "loops";
    selection.variants[Op::conv2d_forward] = name;
    const auto nodes = on.cover(program, selection);
    const std::string why = std::string("conv2d.forward=") + name + " was chosen and runs by itself";
    expect_others(program, nodes, "bn1", "not recomputed: " + why);
    EXPECT_EQ(node_of(program, nodes, Op::conv2d_forward, "conv1").variant->name, name);
  }
}

TEST(RecomputedBatchNorm, WhatIsChosenForAllRunsWhereItCan) {
  for (const RecomputedCase& on : recomputed_cases()) {
    const Program program = on.program({});
    Selection selection;
    selection.variants[Op::batch_norm_forward] = "recomputed";
    selection.variants[Op::batch_norm_backward] = "recomputed";
    const auto nodes = on.cover(program, selection);
    EXPECT_EQ(node_of(program, nodes, Op::batch_norm_forward, "bn1").variant->name, "recomputed");
    EXPECT_EQ(node_of(program, nodes, Op::batch_norm_backward, "bn1").variant->name, "recomputed");
    expect_others(program, nodes, "bn2", "not recomputed: there is no conv2d.forward that it takes");
  }
}

TEST(RecomputedBatchNorm, WhatIsShownIsStored) {
  for (const RecomputedCase& on : recomputed_cases()) {
    const Program program = on.program({}, Purpose::inspection);
    const auto nodes = on.cover(program);
    expect_consistent(program, nodes);
    const NodeCover& convolution = node_of(program, nodes, Op::conv2d_forward, "conv1");
    EXPECT_NE(convolution.variant, nullptr);
    const NodeCover& norm = node_of(program, nodes, Op::batch_norm_infer, "bn1");
    EXPECT_FALSE(norm.shape.covered.has(Op::relu_forward)) << "its input is shown";
  }
}

}  // namespace
}  // namespace warpscope::plan::recomputed_batch_norm_test
