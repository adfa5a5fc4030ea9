// A convolution and the batch norm behind it in one call, which stores what passes between them all the same, because
// backward reads it: which ops such a variant covers, what it writes, and where others run.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/chains.h"
#include "gpu/plan/chain_match.h"
#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"

namespace warpscope::plan::normed_convolution_test {
namespace {

using core::Precision;
using ops::Access;
using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Rename;
using ops::Variant;
using enum models::LayerKind;

struct Second {
  int filters = 128;
  bool bias = false;
  bool relu = true;            ///< behind the norm
  bool pooled = true;          ///< behind that
  bool pooled_before = false;  ///< between the convolution and the norm
  bool added = false;          ///< what comes before the convolution to what is behind the ReLU
};

/// A convolution of 64 channels with a batch norm and a ReLU behind it.
models::Model normed_network(const Second& second) {
  models::Model model{.name = "own", .height = 12, .width = 20, .channels = 3, .layers = {}};
  model.layers = {{.kind = conv2d, .name = "conv1", .out_channels = 64, .kernel = 3},
                  {.kind = relu, .name = "relu1"}};
  model.layers.push_back(
      {.kind = conv2d, .name = "conv2", .out_channels = second.filters, .kernel = 3, .bias = second.bias});
  if (second.pooled_before) model.layers.push_back({.kind = maxpool2d, .name = "pool1", .kernel = 2});
  model.layers.push_back({.kind = batch_norm, .name = "bn2"});
  if (second.relu) model.layers.push_back({.kind = relu, .name = "relu2"});
  if (second.added) model.layers.push_back({.kind = add, .name = "add2", .from = "relu1"});
  if (second.pooled) model.layers.push_back({.kind = maxpool2d, .name = "pool2", .kernel = 2});
  return classifying(std::move(model));
}

/// conv2d bias? batch_norm relu?, of which the input of the norm is stored.
Variant normed() {
  Variant variant{.op = Op::conv2d_forward,
                  .name = "hopper_normed",
                  .precisions = {Precision::fp32},
                  .summary = "",
                  .launch = [](const ops::OpCall&) {}};
  variant.chain = {{.op = Op::conv2d_forward, .renames = {{Name::output, Name::product}}},
                   {.op = Op::bias_forward,
                    .renames = {{Name::input, Name::product}, {Name::output, Name::biased}},
                    .optional = true,
                    .without = Rename{Name::product, Name::biased},
                    .shape = ops::result_shape},
                   {.op = Op::batch_norm_forward,
                    .renames = {{Name::input, Name::biased},
                                {Name::weights, Name::norm_weights},
                                {Name::bias, Name::norm_bias},
                                {Name::output, Name::normed}},
                    .shape = ops::result_shape},
                   {.op = Op::relu_forward,
                    .renames = {{Name::input, Name::normed}},
                    .optional = true,
                    .without = Rename{Name::normed, Name::output},
                    .shape = ops::result_shape}};
  variant.stored = {Name::biased};
  return variant;
}

/// Where such a variant is there: on the CPU beside the variants that there are.
struct NormedCase : CoverCase {
  Program program(const Second& second, Purpose purpose = Purpose::training) const {
    return program_of(normed_network(second), purpose, precision);
  }
  bool is_gpu() const { return device.kind == core::DeviceKind::cuda; }
  /// What the call of a convolution covers that has a norm and a ReLU behind it.
  OpSet covered() const {
    OpSet ops{Op::batch_norm_forward, Op::relu_forward};
    if (is_gpu()) ops.add(Op::batch_norm_track);
    return ops;
  }
};

std::vector<NormedCase> normed_cases() {
  const std::vector<Variant> all{ops::built_in_variants()->begin(), ops::built_in_variants()->end()};
  NormedCase on_cpu{{cpu(), all}};
  on_cpu.variants.push_back(normed());
  std::vector<NormedCase> cases{on_cpu};
  if (ops::find_variant(*ops::built_in_variants(), Op::conv2d_forward, core::DeviceKind::cuda,
                        "hopper_normed") == nullptr)
    return cases;
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    cases.push_back({{gpu(90), all, precision}});
  }
  return cases;
}

TEST(NormedConvolution, ComputesTheNormInTheSameCallAndStoresWhatItReads) {
  for (const NormedCase& on : normed_cases()) {
    for (const bool bias : {false, true}) {
      const Program program = on.program({.bias = bias});
      const auto nodes = on.cover(program);
      expect_consistent(program, nodes);
      const std::size_t own = index_of(program, Op::conv2d_forward, "conv2");
      const std::size_t norm = index_of(program, Op::batch_norm_forward, "bn2");
      const NodeCover& call = nodes[own];
      ASSERT_NE(call.variant, nullptr);
      EXPECT_EQ(call.variant->name, "hopper_normed");
      EXPECT_EQ(call.reason, "");
      OpSet covered = on.covered();
      if (bias) covered.add(Op::bias_forward);
      if (on.is_gpu()) covered.add(Op::maxpool2d_forward);
      EXPECT_EQ(call.shape.covered, covered);
      EXPECT_EQ(tensor_of(call.operands, Name::biased), program.nodes[norm].tensors[0]);
      EXPECT_EQ(tensor_of(call.operands, Name::statistics), program.nodes[norm].tensors[4]);
      EXPECT_EQ(tensor_of(call.operands, Name::norm_weights), program.nodes[norm].tensors[1]);
      EXPECT_EQ(tensor_of(call.operands, Name::norm_bias), program.nodes[norm].tensors[2]);
      EXPECT_EQ(tensor_of(call.operands, Name::product), -1) << "is the sum with the bias, or is not stored";
      EXPECT_EQ(tensor_of(call.operands, Name::normed), -1) << "nobody stores it";
      EXPECT_EQ(nodes[norm].covered_by, static_cast<int>(own));
      const NodeCover& backward = node_of(program, nodes, Op::batch_norm_backward, "bn2");
      EXPECT_EQ(tensor_of(backward.operands, Name::input), program.nodes[norm].tensors[0]);
    }
  }
}

TEST(NormedConvolution, WritesWhatIsStoredAndPassesOnTheRest) {
  const Program program = program_of(normed_network({.bias = true}));
  const std::size_t own = index_of(program, Op::conv2d_forward, "conv2");
  const Variant variant = normed();
  const ChainMatch match = match_chain(program, own, variant, {}, {});
  EXPECT_EQ(match.failure, "");
  ASSERT_EQ(match.unstored.size(), 2u) << "the product, and what the norm gives";
  for (const Unstored& each : match.unstored) {
    EXPECT_NE(each.tensor, tensor_of(match.operands, Name::biased));
  }
  for (const ops::CallOperand& each : ops::operands_of(variant, match.shape)) {
    if (each.name == Name::biased) {
      EXPECT_EQ(each.access, Access::write);
      EXPECT_EQ(each.elements, 8 * 12 * 20 * 128);
    }
  }
}

TEST(NormedConvolution, TakesThePoolingBehindTheNormAlong) {
  for (const NormedCase& on : normed_cases()) {
    if (!on.is_gpu()) continue;
    for (const bool pooled : {false, true}) {
      const Program program = on.program({.pooled = pooled});
      const auto nodes = on.cover(program);
      expect_consistent(program, nodes);
      const NodeCover& call = node_of(program, nodes, Op::conv2d_forward, "conv2");
      OpSet covered = on.covered();
      if (pooled) covered.add(Op::maxpool2d_forward);
      EXPECT_EQ(describe(call), "hopper_normed, with " + ops::describe(covered));
      EXPECT_EQ(call.shape.window_height, pooled ? 2 : 1);
    }
  }
}

TEST(NormedConvolution, AddsWhatComesFromElsewhereAndStoresWhatItIsAddedTo) {
  for (const NormedCase& on : normed_cases()) {
    if (!on.is_gpu()) continue;
    const Program program = on.program({.filters = 64, .pooled = false, .added = true});
    const auto nodes = on.cover(program);
    expect_consistent(program, nodes);
    const std::size_t own = index_of(program, Op::conv2d_forward, "conv2");
    const std::size_t sum = index_of(program, Op::add_forward, "add2");
    OpSet covered = on.covered();
    covered.add(Op::add_forward);
    EXPECT_EQ(describe(nodes[own]), "hopper_normed, with " + ops::describe(covered));
    EXPECT_EQ(nodes[sum].covered_by, static_cast<int>(own));
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::activated), program.nodes[sum].tensors[0]);
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::addend), program.nodes[sum].tensors[1]);
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::output), program.nodes[sum].tensors[2]);
    const std::size_t gradient = index_of(program, Op::relu_backward, "relu2");
    EXPECT_EQ(program.nodes[gradient].tensors[0], program.nodes[sum].tensors[0]) << "which backward reads";
  }
}

TEST(NormedConvolution, OfAnAdditionAndAPoolingBehindItTakesOne) {
  for (const NormedCase& on : normed_cases()) {
    if (!on.is_gpu()) continue;
    for (const bool bias : {false, true}) {
      const Program program = on.program({.filters = 64, .bias = bias, .pooled = true, .added = true});
      const auto nodes = on.cover(program);
      expect_consistent(program, nodes);
      const NodeCover& call = node_of(program, nodes, Op::conv2d_forward, "conv2");
      EXPECT_EQ(call.variant->name, "hopper_normed");
      EXPECT_EQ(call.shape.covered.has(Op::bias_forward), bias);
      EXPECT_TRUE(call.shape.covered.has(Op::add_forward));
      EXPECT_FALSE(call.shape.covered.has(Op::maxpool2d_forward));
      EXPECT_NE(node_of(program, nodes, Op::maxpool2d_forward, "pool2").variant, nullptr);
    }
  }
}

TEST(NormedConvolution, AnAdditionToANormWithoutAReluRunsByItself) {
  for (const NormedCase& on : normed_cases()) {
    if (!on.is_gpu()) continue;
    const Program program = on.program({.filters = 64, .relu = false, .pooled = false, .added = true});
    const auto nodes = on.cover(program);
    expect_consistent(program, nodes);
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv2")),
              "hopper_normed, with " + ops::describe({Op::batch_norm_forward, Op::batch_norm_track}));
    EXPECT_NE(node_of(program, nodes, Op::add_forward, "add2").variant, nullptr);
  }
}

TEST(NormedConvolution, RunningStatisticsThatAreChosenMoveByThemselves) {
  for (const NormedCase& on : normed_cases()) {
    if (!on.is_gpu()) continue;
    const Program program = on.program({});
    Selection selection;
    selection.variants[Op::batch_norm_track] = "naive";
    const auto nodes = on.cover(program, selection);
    expect_consistent(program, nodes);
    const NodeCover& call = node_of(program, nodes, Op::conv2d_forward, "conv2");
    EXPECT_EQ(call.variant->name, "hopper_normed");
    EXPECT_FALSE(call.shape.covered.has(Op::batch_norm_track));
    EXPECT_EQ(node_of(program, nodes, Op::batch_norm_track, "bn2").variant->name, "naive");
  }
}

TEST(NormedConvolution, OthersRunInSilenceWhereNoNormFollowsIt) {
  for (const NormedCase& on : normed_cases()) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Program program = on.program({.pooled_before = purpose == Purpose::training}, purpose);
      const auto nodes = on.cover(program);
      expect_consistent(program, nodes);
      for (const char* layer : {"conv1", "conv2"}) {
        const NodeCover& call = node_of(program, nodes, Op::conv2d_forward, layer);
        EXPECT_NE(call.variant->name, "hopper_normed");
        EXPECT_EQ(call.reason.find("hopper_normed"), std::string::npos) << call.reason;
      }
    }
  }
}

TEST(NormedConvolution, AChosenNormRunsByItself) {
  for (const NormedCase& on : normed_cases()) {
    const Program program = on.program({});
    Selection selection;
    const std::string name = on.is_gpu() ? "welford" : "loops";
    selection.variants[Op::batch_norm_forward] = name;
    const auto nodes = on.cover(program, selection);
    expect_consistent(program, nodes);
    const NodeCover& norm = node_of(program, nodes, Op::batch_norm_forward, "bn2");
    EXPECT_EQ(norm.variant->name, name);
    EXPECT_EQ(norm.shape.covered.has(Op::batch_norm_track), on.is_gpu());
    EXPECT_EQ(node_of(program, nodes, Op::conv2d_forward, "conv2").reason,
              "not hopper_normed: batch_norm.forward=" + name + " was chosen and runs by itself");
  }
}

TEST(NormedConvolution, RunsAsAGeneralOneWithOtherChannels) {
  for (const NormedCase& on : normed_cases()) {
    if (!on.is_gpu()) continue;
    for (const bool bias : {false, true}) {
      const Program program = on.program({.filters = 96, .bias = bias});
      const auto nodes = on.cover(program);
      expect_consistent(program, nodes);
      const std::size_t own = index_of(program, Op::conv2d_forward, "conv2");
      const std::size_t norm = index_of(program, Op::batch_norm_forward, "bn2");
      OpSet covered = on.covered();
      if (bias) covered.add(Op::bias_forward);
      covered.add(Op::maxpool2d_forward);
      EXPECT_EQ(describe(nodes[own]), "hopper_general_normed, with " + ops::describe(covered));
      EXPECT_EQ(nodes[own].reason, "");
      EXPECT_EQ(nodes[norm].covered_by, static_cast<int>(own));
      EXPECT_EQ(tensor_of(nodes[own].operands, Name::biased), program.nodes[norm].tensors[0]);
      EXPECT_EQ(tensor_of(nodes[own].operands, Name::statistics), program.nodes[norm].tensors[4]);
    }
  }
}

TEST(NormedConvolution, OthersRunWithAReasonWhereTheShapeIsRefused) {
  for (const NormedCase& on : normed_cases()) {
    if (!on.is_gpu()) continue;
    const Program program = on.program({.filters = 20});
    const auto nodes = on.cover(program);
    expect_consistent(program, nodes);
    const NodeCover& call = node_of(program, nodes, Op::conv2d_forward, "conv2");
    EXPECT_EQ(call.variant->name, "hopper");
    EXPECT_EQ(call.reason, "not hopper_normed: takes channels in multiples of 64");
    EXPECT_EQ(node_of(program, nodes, Op::batch_norm_forward, "bn2").variant->name, "pooled");
  }
}

}  // namespace
}  // namespace warpscope::plan::normed_convolution_test
