// Variants that cover several ops, on programs alone.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/memory.h"
#include "gpu/plan/program.h"
#include "gpu/plan/selection.h"
#include "tests/support/tiny.h"

namespace warpscope::plan {
namespace {

using core::Precision;
using ops::Op;
using ops::Variant;

const Variant kPlain{.name = "plain", .precisions = {}, .summary = "", .launch = [](const ops::OpCall&) {}};
const Variant kPlaceholder{.name = "fused", .precisions = {}, .summary = ""};
const Variant kForward{.op = Op::conv2d_forward,
                       .name = "forward_fused",
                       .precisions = {},
                       .fuses = {Op::bias_forward, Op::relu_forward},
                       .summary = "",
                       .launch = [](const ops::OpCall&) {}};
const Variant kBackward{.op = Op::conv2d_backward_weights,
                        .name = "backward",
                        .precisions = {},
                        .fuses = {Op::conv2d_backward_bias},
                        .fuses_on_request = true,
                        .summary = "",
                        .launch = [](const ops::OpCall&) {}};

Program training(Precision precision = Precision::fp32) {
  return lower(tests::tiny_model(), Purpose::training, 3, 12, 16, precision);
}

std::vector<const Variant*> choose(const Program& program, const Variant& forward, const Variant& weights,
                                   const Variant& bias) {
  std::vector<const Variant*> chosen;
  for (const Node& node : program.nodes) {
    chosen.push_back(node.op == Op::conv2d_forward            ? &forward
                     : node.op == Op::conv2d_backward_weights ? &weights
                     : node.op == Op::conv2d_backward_bias    ? &bias
                                                              : &kPlain);
  }
  return chosen;
}

int count(const Program& program, Op op) {
  return static_cast<int>(std::count_if(program.nodes.begin(), program.nodes.end(),
                                        [op](const Node& node) { return node.op == op; }));
}

TEST(Absorb, PlainVariantsChangeNothing) {
  Program program = training();
  const Program before = program;
  absorb(program, choose(program, kPlain, kPlain, kPlain));
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    EXPECT_EQ(program.nodes[n].tensors, before.nodes[n].tensors);
    EXPECT_EQ(program.nodes[n].absorbed_by, -1);
  }
}

TEST(Absorb, AConvolutionTakesItsBiasAndReluAndWritesTheirOutput) {
  Program program = training();
  const Program before = program;
  absorb(program, choose(program, kForward, kPlain, kPlain));
  ASSERT_GT(count(program, Op::conv2d_forward), 1);
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    const Node& node = program.nodes[n];
    if (node.op != Op::conv2d_forward) continue;
    SCOPED_TRACE(node.layer);
    const bool relu = before.nodes[n + 2].op == Op::relu_forward;
    EXPECT_EQ(node.absorbed, relu ? 2 : 1);
    ASSERT_EQ(node.tensors.size(), 4u);
    EXPECT_EQ(node.tensors[0], before.nodes[n].tensors[0]);
    EXPECT_EQ(node.tensors[1], before.nodes[n].tensors[1]);
    EXPECT_EQ(node.tensors[2], before.nodes[n + (relu ? 2 : 1)].tensors.back());
    EXPECT_EQ(node.tensors[3], before.nodes[n + 1].tensors[1]);
    for (int k = 1; k <= node.absorbed; ++k) {
      EXPECT_EQ(program.nodes[n + static_cast<std::size_t>(k)].absorbed_by, static_cast<int>(n));
      EXPECT_TRUE(program.nodes[n + static_cast<std::size_t>(k)].tensors.empty());
    }
  }
}

TEST(Absorb, TheBiasGradientIsTakenOnlyOnRequest) {
  Program program = training();
  absorb(program, choose(program, kPlain, kBackward, kPlain));
  for (const Node& node : program.nodes) EXPECT_EQ(node.absorbed_by, -1);
  const Program before = program;
  absorb(program, choose(program, kPlain, kBackward, kPlaceholder));
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    const Node& node = program.nodes[n];
    if (node.op != Op::conv2d_backward_weights) continue;
    EXPECT_EQ(node.absorbed, 1);
    ASSERT_EQ(node.tensors.size(), 4u);
    EXPECT_EQ(node.tensors[3], before.nodes[n + 1].tensors[1]);
    EXPECT_EQ(program.nodes[n + 1].absorbed_by, static_cast<int>(n));
  }
}

TEST(Absorb, SavesTheMemoryOfWhatIsNotWrittenAnyMore) {
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    Program plain = lower(models::find_model("autoencoder"), Purpose::training, 8, 12, 16, precision);
    Program fused = plain;
    absorb(fused, choose(fused, kForward, kBackward, kPlaceholder));
    const std::vector<std::size_t> workspaces(plain.nodes.size());
    EXPECT_LE(plan_memory(fused, precision, workspaces).bytes,
              plan_memory(plain, precision, workspaces).bytes);
  }
}

const Variant kLayerBackward{
    .op = Op::linear_backward_weights,
    .name = "layer",
    .precisions = {},
    .fuses = {Op::linear_backward_bias, Op::linear_backward_input, Op::relu_backward},
    .summary = "",
    .launch = [](const ops::OpCall&) {}};
const Variant kLoss{.op = Op::cross_entropy_forward,
                    .name = "loss",
                    .precisions = {},
                    .fuses = {Op::cross_entropy_backward},
                    .summary = "",
                    .launch = [](const ops::OpCall&) {}};
const Variant kGather{.op = Op::batch_gather,
                      .name = "gather",
                      .precisions = {},
                      .fuses = {Op::labels_gather},
                      .summary = "",
                      .launch = [](const ops::OpCall&) {}};

/// The program of the network of linear layers, and the same with `variant` in all its places.
struct Classifier {
  explicit Classifier(const Variant& variant)
      : before(lower(models::find_model("mlp"), Purpose::training, 5, 100, 16, Precision::fp32)),
        after(before) {
    std::vector<const Variant*> chosen;
    for (const Node& node : before.nodes) chosen.push_back(node.op == variant.op ? &variant : &kPlain);
    absorb(after, chosen);
  }
  Program before;
  Program after;
};

TEST(Absorb, TheWholeBackwardPassOfALinearLayerIsOneNode) {
  const Classifier network(kLayerBackward);
  std::vector<int> absorbed;
  for (std::size_t n = 0; n < network.after.nodes.size(); ++n) {
    const Node& node = network.after.nodes[n];
    if (node.op != Op::linear_backward_weights) continue;
    absorbed.push_back(node.absorbed);
    const auto& own = network.before.nodes;
    std::vector<int> expected = own[n].tensors;
    expected.push_back(own[n + 1].tensors[1]);
    std::vector<int> written{own[n + 1].tensors[1]};
    if (node.absorbed == 3) {
      expected.insert(expected.end(), {own[n + 2].tensors[1], own[n + 3].tensors[2], own[n + 3].tensors[0]});
      written.push_back(own[n + 3].tensors[2]);
    }
    EXPECT_EQ(node.tensors, expected);
    EXPECT_EQ(node.written_too, written);
  }
  EXPECT_EQ(absorbed, (std::vector<int>{3, 3, 1})) << "nobody needs the gradient of the images";
}

TEST(Absorb, TheLossTakesItsGradient) {
  const Classifier network(kLoss);
  for (std::size_t n = 0; n < network.after.nodes.size(); ++n) {
    const Node& node = network.after.nodes[n];
    if (node.op != Op::cross_entropy_forward) continue;
    EXPECT_EQ(node.absorbed, 1);
    const std::vector<int>& backward = network.before.nodes[n + 1].tensors;
    ASSERT_EQ(node.tensors.size(), 8u);
    EXPECT_EQ(node.tensors[6], backward[2]);
    EXPECT_EQ(node.tensors[7], backward[3]);
    EXPECT_EQ(node.written_too, std::vector<int>{backward[3]});
  }
}

TEST(Absorb, TheImagesTakeTheirLabels) {
  const Classifier network(kGather);
  const Node& node = network.after.nodes.front();
  EXPECT_EQ(node.absorbed, 1);
  const std::vector<int>& labels = network.before.nodes[1].tensors;
  ASSERT_EQ(node.tensors.size(), 6u);
  EXPECT_EQ(node.tensors[4], labels[0]);
  EXPECT_EQ(node.tensors[5], labels[3]);
}

TEST(Absorb, AStepOfTheNetworkOfLinearLayersIsTenLaunchesByDefault) {
  core::DeviceInfo hopper;
  hopper.kind = core::DeviceKind::cuda;
  hopper.compute_capability = 90;
  if (ops::variants_of(Op::linear_forward, hopper.kind).empty()) GTEST_SKIP() << "this build has no CUDA";
  const Selection selection = default_selection(hopper, Precision::fp32);
  Program program = lower(models::find_model("mlp"), Purpose::training, 5, 100, 16, Precision::fp32);
  std::vector<const Variant*> chosen;
  for (const Node& node : program.nodes) {
    chosen.push_back(ops::find_variant(node.op, hopper.kind, selection.variants.at(node.op)));
  }
  absorb(program, chosen);
  std::vector<Op> launches;
  for (const Node& node : program.nodes) {
    if (node.absorbed_by < 0) launches.push_back(node.op);
  }
  using enum Op;
  EXPECT_EQ(launches,
            (std::vector<Op>{batch_gather, linear_forward, linear_forward, linear_forward,
                             cross_entropy_forward, linear_backward_weights, linear_backward_weights,
                             linear_backward_weights, optimizer_update, step_record}));
}

/// Byte ranges [first, second) of the planned tensors that a node of `program` uses.
std::vector<std::pair<std::size_t, std::size_t>> ranges_of(const Program& program, const MemoryPlan& memory,
                                                           const Node& node) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const int tensor : node.tensors) {
    const Tensor& used = program.tensors[static_cast<std::size_t>(tensor)];
    if (used.storage != Storage::planned) continue;
    const std::size_t begin = memory.tensor_offset[static_cast<std::size_t>(tensor)];
    ranges.emplace_back(begin, begin + static_cast<std::size_t>(used.elements) *
                                           core::size_of(ops::element_type(used.role, Precision::fp32)));
  }
  return ranges;
}

TEST(Absorb, WhatAbsorbedOpsWriteHasMemoryOfItsOwn) {
  for (const Variant* variant : {&kLayerBackward, &kLoss, &kGather}) {
    const Classifier network(*variant);
    const MemoryPlan memory =
        plan_memory(network.after, Precision::fp32, std::vector<std::size_t>(network.after.nodes.size()));
    for (const Node& node : network.after.nodes) {
      if (node.op != variant->op) continue;
      auto ranges = ranges_of(network.after, memory, node);
      std::sort(ranges.begin(), ranges.end());
      for (std::size_t i = 1; i < ranges.size(); ++i) {
        // The mask of a layer is its input.
        if (ranges[i] == ranges[i - 1]) continue;
        EXPECT_LE(ranges[i - 1].second, ranges[i].first) << variant->name;
      }
    }
  }
}

std::vector<Op> ops_of(const Program& program) {
  std::vector<Op> list;
  for (const Node& node : program.nodes) list.push_back(node.op);
  return list;
}

TEST(Lowering, CastsTheWeightsFirstInSixteenBits) {
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Program program = lower(tests::tiny_model(), purpose, 3, 12, 16, precision);
      EXPECT_EQ(program.nodes.front().op, Op::weights_cast);
      const int weights = program.nodes.front().tensors[1];
      for (const Node& node : program.nodes) {
        if (node.op != Op::conv2d_forward) continue;
        const Tensor& used = program.tensors[static_cast<std::size_t>(node.tensors[1])];
        EXPECT_EQ(used.storage, Storage::part);
        EXPECT_EQ(used.parent, weights);
      }
    }
  }
  EXPECT_EQ(count(training(Precision::fp32), Op::weights_cast), 0);
  EXPECT_EQ(count(training(Precision::tf32), Op::weights_cast), 0);
}

TEST(Lowering, TakesTheNormBeforeTheUpdateInFp16OrToClip) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    EXPECT_EQ(count(training(precision), Op::gradients_norm), 0);
  }
  Recipe clips;
  clips.clip_norm = true;
  for (const Program& program : {training(Precision::fp16), lower(tests::tiny_model(), Purpose::training, 3,
                                                                  12, 16, Precision::fp32, clips)}) {
    const std::vector<Op> list = ops_of(program);
    const auto norm = std::find(list.begin(), list.end(), Op::gradients_norm);
    ASSERT_NE(norm, list.end());
    EXPECT_EQ(*(norm + 1), Op::optimizer_update);
  }
}

TEST(Lowering, MicroBatchesShareOneUpdate) {
  Recipe recipe;
  recipe.micro_batches = 4;
  const Program program = lower(tests::tiny_model(), Purpose::training, 3, 12, 16, Precision::fp32, recipe);
  const std::vector<Op> list = ops_of(program);
  ASSERT_LT(program.update, list.size());
  EXPECT_EQ(list[program.update], Op::optimizer_update);
  EXPECT_EQ(list[program.update - 1], Op::micro_batch_record);
  EXPECT_EQ(list[program.update - 2], Op::gradients_accumulate);
  EXPECT_EQ(list.back(), Op::step_record);
  EXPECT_EQ(program.nodes.back().shape.batch, 0) << "the position has advanced already";
}

TEST(Lowering, ASamplesGradientsAreKeptApartUnderTheFaultyScheme) {
  Recipe recipe;
  recipe.micro_batches = 8;
  recipe.per_sample = true;
  recipe.rule = ops::UpdateRule::adam;
  const Program program = lower(tests::tiny_model(), Purpose::training, 1, 12, 16, Precision::fp32, recipe);
  const Node& update = program.nodes[program.update];
  EXPECT_EQ(update.op, Op::optimizer_update_per_sample);
  EXPECT_EQ(update.shape.batch, 8);
  EXPECT_EQ(program.tensors[static_cast<std::size_t>(update.tensors[0])].elements, 8 * update.shape.count);
}

TEST(Lowering, EndsAClassifierWithTheCrossEntropyOfItsLabels) {
  const Program program = lower(models::find_model("mlp"), Purpose::training, 5, 100, 16, Precision::fp32);
  const std::vector<Op> list = ops_of(program);
  EXPECT_EQ(count(program, Op::linear_forward), 3);
  EXPECT_EQ(count(program, Op::linear_backward_weights), 3);
  EXPECT_EQ(count(program, Op::linear_backward_input), 2) << "nobody needs the gradient of the images";
  EXPECT_EQ(count(program, Op::mse_forward), 0);
  const auto loss = std::find(list.begin(), list.end(), Op::cross_entropy_forward);
  ASSERT_NE(loss, list.end());
  EXPECT_EQ(*std::next(list.begin()), Op::labels_gather) << "beside the images";
}

TEST(Lowering, ShowsImagesInFp32WhateverThePrecision) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const Program program = lower(tests::tiny_model(), Purpose::inference, 3, 12, 16, precision);
    for (const int tensor : {program.shown_target, program.shown_prediction}) {
      ASSERT_GE(tensor, 0);
      const Tensor& shown = program.tensors[static_cast<std::size_t>(tensor)];
      EXPECT_TRUE(shown.kept);
      EXPECT_EQ(ops::element_type(shown.role, precision), core::ElementType::f32);
    }
  }
}

}  // namespace
}  // namespace warpscope::plan
