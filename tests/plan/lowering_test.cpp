// What a model becomes before variants are chosen.

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/plan/program.h"
#include "gpu/plan/program_builder.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny.h"

namespace warpscope::plan::lowering_test {
namespace {

using core::Precision;
using ops::Op;

Program training(Precision precision = Precision::fp32) {
  return lower(tests::tiny_model(), Purpose::training, 3, 12, 16, precision);
}

int count(const Program& program, Op op) {
  return static_cast<int>(std::count_if(program.nodes.begin(), program.nodes.end(),
                                        [op](const Node& node) { return node.op == op; }));
}

std::vector<Op> ops_of(const Program& program) {
  std::vector<Op> list;
  for (const Node& node : program.nodes) list.push_back(node.op);
  return list;
}

TEST(Lowering, MasksTheGradientOfAPooledReluWhereItIsSmallest) {
  const Program program = training();
  const auto relu = std::find_if(program.nodes.begin(), program.nodes.end(), [](const Node& node) {
    return node.op == Op::relu_backward && node.layer == "relu1";
  });
  ASSERT_NE(relu, program.nodes.end());
  EXPECT_EQ(relu->shape.height, 4) << "after pooling";
  EXPECT_EQ((relu + 1)->op, Op::maxpool2d_backward);
  EXPECT_EQ((relu + 1)->tensors[0], relu->tensors[2]) << "reads what the mask has left";
  EXPECT_EQ(count(program, Op::relu_backward), 2) << "one for each ReLU";
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

TEST(Lowering, AugmentsTheImagesOfTrainingAlone) {
  Recipe recipe;
  recipe.augment = true;
  for (const bool mixes : {false, true}) {
    recipe.mixup = mixes;
    const models::Model joint = models::with_head(tests::tiny_model(), 3);
    for (const models::Model& model : {models::find_model("mlp"), joint}) {
      const auto lowered = [&](Purpose purpose) {
        return lower(model, purpose, 5, 100, 16, Precision::fp32, recipe);
      };
      const Program program = lowered(Purpose::training);
      EXPECT_EQ(count(program, Op::batch_augment), 1);
      EXPECT_EQ(count(program, Op::batch_gather), 0);
      EXPECT_EQ(count(program, Op::mixed_cross_entropy_forward), mixes ? 1 : 0);
      EXPECT_EQ(count(program, Op::mixed_cross_entropy_backward), mixes ? 1 : 0);
      EXPECT_EQ(count(program, Op::cross_entropy_forward), mixes ? 0 : 1);
      EXPECT_EQ(count(program, Op::cross_entropy_backward), mixes ? 0 : 1);
      EXPECT_EQ(ops_of(lowered(Purpose::inference)),
                ops_of(lower(model, Purpose::inference, 5, 100, 16, Precision::fp32)));
    }
  }
}

TEST(Lowering, MakesViewsOfTheImagesOfAnyPurposeThatIsToldTo) {
  const models::Model model = models::find_model("classifier");
  for (const Purpose purpose : {Purpose::inference, Purpose::encoding, Purpose::inspection}) {
    const auto lowered = [&](const Recipe& recipe) {
      return ops_of(lower(model, purpose, 5, 100, 16, Precision::fp32, recipe));
    };
    std::vector<Op> plain = lowered({});
    std::replace(plain.begin(), plain.end(), Op::batch_gather, Op::batch_augment);
    EXPECT_EQ(lowered({.views = true}), plain);
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

TEST(Lowering, AFactorReachesBothPassesAndInference) {
  models::Model model = tests::tiny_model();
  models::Layer scale{models::LayerKind::scale, "scale1"};
  scale.factor = 0.125f;
  model.layers.push_back(scale);
  for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
    const Program program = lower(model, purpose, 3, 12, 16, Precision::fp32);
    EXPECT_EQ(count(program, Op::scale_forward), 1);
    EXPECT_EQ(count(program, Op::scale_backward), purpose == Purpose::training ? 1 : 0);
    for (const Node& node : program.nodes) {
      EXPECT_EQ(node.shape.factor, node.layer == "scale1" ? 0.125f : 1.0f) << to_string(node.op);
    }
  }
}

TEST(Lowering, RefusesToNormalizeOverASingleValue) {
  using enum models::LayerKind;
  const models::Model model{
      "normed", 1, 1, 4, {{batch_norm, "bn1"}, {linear, "fc1", 4, 3}}, models::Loss::cross_entropy, 3};
  const auto lowered = [&](Purpose purpose, int batch) {
    return lower(model, purpose, batch, 12, 16, Precision::fp32);
  };
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { lowered(Purpose::training, 1); }),
                           {"layer bn1", "single value", "larger batch"}));
  EXPECT_NO_THROW(lowered(Purpose::training, 2));
  EXPECT_NO_THROW(lowered(Purpose::inference, 1)) << "it goes by the running means";
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

TEST(ProgramBuilder, PutsOperandsWhereTheirNamesSay) {
  using ops::Name;
  const models::Model model = tests::tiny_model();
  ProgramBuilder to(model, 3, Precision::fp32);
  const ops::OpShape shape = to.image_shape(4, 4, 2);
  const auto tensor = [&](const char* name) { return to.planned(name, Op::add_forward, Name::input, shape); };
  const int input = tensor("input"), addend = tensor("addend"), output = tensor("output");
  to.node(Op::add_forward, "add1", shape,
          {{Name::output, output}, {Name::addend, addend}, {Name::input, input}});
  EXPECT_EQ(to.program.nodes.back().tensors, (std::vector<int>{input, addend, output}));
  const auto refusal = [&](const Operands& operands) {
    return tests::message_of<std::logic_error>([&] { to.node(Op::add_forward, "add1", shape, operands); });
  };
  EXPECT_EQ(refusal({{Name::input, input}, {Name::output, output}}), "add.forward is lowered without addend");
  EXPECT_EQ(
      refusal({{Name::input, input}, {Name::addend, addend}, {Name::output, output}, {Name::weights, input}}),
      "add.forward is lowered with other operands than its contract's");
  EXPECT_EQ(to.program.nodes.size(), 1u) << "nothing was added";
}

}  // namespace
}  // namespace warpscope::plan::lowering_test
