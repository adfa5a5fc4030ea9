#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/plan.h"
#include "tests/support/plan_memory.h"

namespace warpscope::plan {
namespace {

using ops::Op;
using tests::all_of;
using tests::PlanMemory;

/// Of four classes: 8x8x3, conv 3-4, pool, conv 4-5, pool, linear 20-6-4.
models::Model classifier() {
  using enum models::LayerKind;
  return {"classifier",
          8,
          8,
          3,
          {{conv2d, "conv1", 3, 4, 3},
           {relu, "relu1"},
           {maxpool2d, "pool1"},
           {conv2d, "conv2", 4, 5, 3},
           {relu, "relu2"},
           {maxpool2d, "pool2"},
           {linear, "fc1", 20, 6},
           {relu, "relu3"},
           {linear, "fc2", 6, 4}},
          models::Loss::cross_entropy,
          4};
}

/// Two steps from fresh weights, layer by layer or in blocks.
struct TwoSteps {
  PlanMemory memory;
  std::vector<Op> ops;

  TwoSteps(const models::Model& model, const Recipe& recipe, int batch, bool blocks)
      : memory(core::open_device("cpu"), model) {
    memory.control.micro_batches = static_cast<std::uint32_t>(recipe.micro_batches);
    Selection selection = all_of("loops");
    if (blocks) choose(selection, Op::block_forward, "loops", memory.device->info());
    Plan plan = memory.make(Purpose::training, selection, batch, recipe);
    plan.launch(*memory.stream);
    plan.launch(*memory.stream);
    for (const PlanNode& node : plan.nodes()) ops.push_back(node.op);
  }
  std::ptrdiff_t count(Op op) const { return std::count(ops.begin(), ops.end(), op); }
};

// The same loops run, on the same numbers, in the same order: nothing may differ.
void expect_same_bits(const models::Model& model, const Recipe& recipe, int batch) {
  SCOPED_TRACE(model.name);
  const TwoSteps layers(model, recipe, batch, false);
  const TwoSteps blocks(model, recipe, batch, true);
  EXPECT_EQ(layers.count(Op::block_forward), 0);
  EXPECT_EQ(blocks.count(Op::conv2d_forward), 0);
  for (const std::size_t step : {0u, 1u}) {
    EXPECT_EQ(blocks.memory.ring[step].loss, layers.memory.ring[step].loss);
    EXPECT_EQ(blocks.memory.ring[step].accuracy, layers.memory.ring[step].accuracy);
    EXPECT_EQ(blocks.memory.ring[step].gradient_norm, layers.memory.ring[step].gradient_norm);
    EXPECT_EQ(blocks.memory.ring[step].update_ratio, layers.memory.ring[step].update_ratio);
  }
  EXPECT_NE(layers.memory.parameters, layers.memory.initial);
  EXPECT_EQ(blocks.memory.gradients, layers.memory.gradients);
  EXPECT_EQ(blocks.memory.parameters, layers.memory.parameters);
  EXPECT_EQ(blocks.memory.control.position, layers.memory.control.position);
}

TEST(Blocks, GiveTheBitsOfTheirLayers) {
  expect_same_bits(tests::tiny_model(), {}, 5);
  expect_same_bits(classifier(), {}, 5);
}

TEST(Blocks, GiveTheBitsOfTheirLayersInMicroBatches) {
  const Recipe recipe{.micro_batches = 2, .clip_norm = true};
  expect_same_bits(tests::tiny_model(), recipe, 3);
  expect_same_bits(classifier(), recipe, 3);
}

TEST(Blocks, GiveTheBitsOfTheirLayersWithAnUpdateASample) {
  const Recipe recipe{.micro_batches = 4, .per_sample = true};
  expect_same_bits(tests::tiny_model(), recipe, 1);
  expect_same_bits(classifier(), recipe, 1);
}

TEST(Blocks, MicroBatchesGiveTheWeightsOfOneBatch) {
  const TwoSteps whole(classifier(), {}, 6, true);
  const TwoSteps parts(classifier(), {.micro_batches = 2}, 3, true);
  for (std::size_t i = 0; i < whole.memory.parameters.size(); ++i)
    EXPECT_NEAR(parts.memory.parameters[i], whole.memory.parameters[i], 1e-6) << "parameter " << i;
}

TEST(Blocks, TakeTheWholeAutoencoder) {
  const TwoSteps blocks(tests::tiny_model(), {}, 5, true);
  EXPECT_EQ(blocks.ops.size(), 13u) << "gather, 3 forward, 2 mse, 5 backward, update, record";
}

TEST(Blocks, MaskTheGradientThatALinearLayerGivesThem) {
  const TwoSteps blocks(classifier(), {}, 5, true);
  EXPECT_EQ(blocks.count(Op::block_forward), 2);
  EXPECT_EQ(blocks.count(Op::block_backward_input), 1) << "nobody needs the gradient of the images";
  EXPECT_EQ(blocks.count(Op::relu_backward), 2) << "of the linear layer, and of the block before it";
  EXPECT_EQ(blocks.count(Op::maxpool2d_backward), 0);
}

TEST(Blocks, ReadTheCastWeightsInSixteenBits) {
  const Program program =
      lower(classifier(), Purpose::training, 3, 12, 16, core::Precision::bf16, {.micro_batches = 2}, true);
  EXPECT_EQ(program.nodes.front().op, Op::weights_cast);
  const int weights = program.nodes.front().tensors[1];
  int read = 0;
  for (const Node& node : program.nodes) {
    if (!ops::is_block(node.op)) continue;
    for (const int tensor : node.tensors) {
      const Tensor& used = program.tensors[static_cast<std::size_t>(tensor)];
      if (used.role != ops::Role::weight) continue;
      EXPECT_EQ(used.storage, Storage::part);
      EXPECT_EQ(used.parent, weights);
      ++read;
    }
  }
  EXPECT_EQ(read, 5) << "weights and bias twice forward, weights once backward";
}

}  // namespace
}  // namespace warpscope::plan
