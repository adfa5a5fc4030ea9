// Which variant runs each op, and which ops a call covers: chains matched on programs.

#include "gpu/plan/cover.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/chains.h"
#include "gpu/plan/chain_match.h"
#include "tests/plan/cover_support.h"
#include "tests/support/tiny.h"
#include "tests/support/tiny_text.h"

namespace warpscope::plan {
namespace {

using core::DeviceKind;
using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;

const Variant kEpilogue{.op = Op::conv2d_forward,
                        .name = "epilogue",
                        .chain = ops::bias_and_relu_after(Op::conv2d_forward),
                        .summary = "",
                        .launch = [](const ops::OpCall&) {}};

int tensor_of(const ChainMatch& match, Name name) {
  for (const BoundOperand& each : match.operands) {
    if (each.operand.name == name) return each.tensor;
  }
  return -1;
}

TEST(ChainMatch, TakesWhatFollowsAndWritesTheLastOutput) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const ChainMatch match = match_chain(program, conv, kEpilogue, {}, {});
  EXPECT_EQ(match.failure, "");
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(tensor_of(match, Name::input), program.nodes[conv].tensors[0]);
  EXPECT_EQ(tensor_of(match, Name::bias), program.nodes[conv + 1].tensors[1]);
  EXPECT_EQ(tensor_of(match, Name::output), program.nodes[conv + 2].tensors[1]);
  ASSERT_EQ(match.operands.size(), 4u) << "input, weights, bias, output";
  ASSERT_EQ(match.unstored.size(), 2u) << "the product, and the sum with the bias";
}

TEST(ChainMatch, LeavesOutWhatIsNotThere) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t last = index_of(program, Op::conv2d_forward, "conv3");
  const ChainMatch match = match_chain(program, last, kEpilogue, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward})) << "no ReLU follows the last layer";
  EXPECT_EQ(tensor_of(match, Name::output), program.prediction);
}

TEST(ChainMatch, LeavesOutWhatItIsToldAndWhatNeedsThat) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  EXPECT_EQ(match_chain(program, conv, kEpilogue, {Op::relu_forward}, {}).covered, (OpSet{Op::bias_forward}));
  EXPECT_EQ(match_chain(program, conv, kEpilogue, {Op::bias_forward}, {}).covered, OpSet());
}

TEST(ChainMatch, AChosenOpRunsByItself) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  Selection selection;
  selection.variants[Op::relu_forward] = "loops";
  const ChainMatch match = match_chain(program, conv, kEpilogue, {}, selection);
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward}));
  EXPECT_EQ(match.note, "relu.forward=loops was chosen and runs by itself");
}

TEST(ChainMatch, ARequiredOpThatIsNotThereFailsWithItsName) {
  Variant variant = kEpilogue;
  variant.chain[2].optional = false;
  const Program program = program_of(tests::tiny_model());
  const std::size_t last = index_of(program, Op::conv2d_forward, "conv3");
  EXPECT_EQ(match_chain(program, last, variant, {}, {}).failure, "there is no relu.forward");
}

TEST(ChainMatch, ARequiredOpThatIsLeftOutFailsWithItsName) {
  Variant variant = kEpilogue;
  variant.chain[1].optional = false;
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  EXPECT_EQ(match_chain(program, conv, variant, {Op::bias_forward}, {}).failure, "without bias.forward");
}

TEST(ChainMatch, GivesUpOptionalOpsUntilTheShapeIsTaken) {
  Variant variant = kEpilogue;
  variant.refuses = [](const ops::OpShape& shape) -> std::string {
    return shape.covered.has(Op::relu_forward) ? "takes no ReLU" : "";
  };
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const ChainMatch match = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward}));
  EXPECT_EQ(match.note, "takes no ReLU");
}

TEST(ChainMatch, GivesUpNoMoreThanTheVariantRefuses) {
  Variant variant = kEpilogue;
  variant.chain.front().renames.push_back({Name::input, Name::upsampled});
  variant.chain.insert(variant.chain.begin(), {.op = Op::upsample2d_forward,
                                               .renames = {{Name::output, Name::upsampled}},
                                               .optional = true,
                                               .without = ops::Rename{Name::upsampled, Name::input}});
  variant.refuses = [](const ops::OpShape& shape) -> std::string {
    return shape.covered.has(Op::upsample2d_forward) ? "takes no upsampled input" : "";
  };
  const Program program = program_of(models::find_model("autoencoder"));
  const ChainMatch match =
      match_chain(program, index_of(program, Op::conv2d_forward, "conv4"), variant, {}, {});
  EXPECT_EQ(match.failure, "");
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(match.note, "takes no upsampled input");
}

TEST(ChainMatch, LeavesOutAPoolingInOtherWindowsThanItsOwn) {
  Variant variant = kEpilogue;
  variant.chain[2].renames.push_back({Name::output, Name::activated});
  variant.chain[2].without = ops::Rename{Name::biased, Name::activated};
  variant.chain.push_back({.op = Op::maxpool2d_forward,
                           .renames = {{Name::input, Name::activated}},
                           .optional = true,
                           .without = ops::Rename{Name::activated, Name::output},
                           .shape = ops::pooling_shape});
  Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  EXPECT_EQ(match_chain(program, conv, variant, {}, {}).covered,
            (OpSet{Op::bias_forward, Op::relu_forward, Op::maxpool2d_forward}));
  ops::OpShape& pool = program.nodes[index_of(program, Op::maxpool2d_forward, "pool1")].shape;
  pool.kernel_height = 1;
  pool.kernel_width = 3;
  const ChainMatch match = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(match.note, "maxpool2d.forward has a window of 1x3");
}

TEST(ChainMatch, ALinkThatTakesAnyWindowTellsTheCallWhichItIs) {
  Variant variant = kEpilogue;
  variant.chain[2].renames.push_back({Name::output, Name::activated});
  variant.chain[2].without = ops::Rename{Name::biased, Name::activated};
  variant.chain.push_back({.op = Op::maxpool2d_forward,
                           .renames = {{Name::input, Name::activated}},
                           .optional = true,
                           .without = ops::Rename{Name::activated, Name::output},
                           .shape =
                               [](const ops::OpShape& call) {
                                 ops::OpShape shape = ops::result_shape(call);
                                 shape.kernel_height = call.window_height;
                                 shape.kernel_width = call.window_width;
                                 return shape;
                               },
                           .takes_window = true});
  Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  ops::OpShape& pool = program.nodes[index_of(program, Op::maxpool2d_forward, "pool1")].shape;
  pool.kernel_height = 1;
  pool.kernel_width = 3;
  const ChainMatch match = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward, Op::maxpool2d_forward}));
  EXPECT_EQ(match.note, "");
  EXPECT_EQ(match.shape.window_height, 1);
  EXPECT_EQ(match.shape.window_width, 3);
  EXPECT_EQ(ops::by_itself(match.shape), program.nodes[conv].shape);
  const ChainMatch without = match_chain(program, conv, variant, {Op::maxpool2d_forward}, {});
  EXPECT_EQ(without.shape.window_width, 1) << "no pooling, no window";
}

core::DeviceInfo cpu() {
  return core::open_device("cpu")->info();
}

core::DeviceInfo gpu(int compute_capability) {
  core::DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.compute_capability = compute_capability;
  return info;
}

bool has_gpu_variants() {
  return !ops::variants_of(Op::conv2d_forward, DeviceKind::cuda).empty();
}

TEST(Cover, OnACpuTheConvolutionTakesItsBiasAndRelu) {
  const Program program = program_of(tests::tiny_model());
  const auto nodes = cover(program, {}, cpu());
  expect_consistent(program, nodes);
  const NodeCover& conv = node_of(program, nodes, Op::conv2d_forward, "conv1");
  EXPECT_EQ(describe(conv), "onednn_fused, with bias, relu");
  EXPECT_EQ(node_of(program, nodes, Op::relu_forward, "relu1").covered_by,
            static_cast<int>(index_of(program, Op::conv2d_forward, "conv1")));
  EXPECT_EQ(conv.reason, "");
}

TEST(Cover, AChoiceInTheWayIsTold) {
  const Program program = program_of(tests::tiny_model());
  Selection selection;
  selection.variants[Op::bias_forward] = "loops";
  const auto nodes = cover(program, selection, cpu());
  expect_consistent(program, nodes);
  const NodeCover& conv = node_of(program, nodes, Op::conv2d_forward, "conv1");
  EXPECT_TRUE(conv.shape.covered.empty());
  EXPECT_EQ(conv.reason, "bias.forward=loops was chosen and runs by itself");
  EXPECT_EQ(node_of(program, nodes, Op::bias_forward, "conv1").variant->name, "loops");
}

TEST(Cover, AVariantThatIsNoDefaultRunsOnlyWhereItIsChosen) {
  const Program program = program_of(tests::tiny_model());
  std::vector<Variant> variants(ops::variants().begin(), ops::variants().end());
  Variant unmeasured = *ops::find_variant(Op::relu_forward, DeviceKind::cpu, "loops");
  unmeasured.name = "unmeasured";
  unmeasured.by_default = false;
  variants.push_back(unmeasured);
  const auto runs = [&](const Selection& selection) {
    return node_of(program, cover_among(variants, program, selection, cpu()), Op::relu_forward, "relu1")
        .variant->name;
  };
  Selection selection;
  selection.variants[Op::conv2d_forward] = "loops";  // covers nothing
  EXPECT_EQ(runs(selection), automatic_variant(Op::relu_forward, cpu(), Precision::fp32)->name);
  selection.variants[Op::relu_forward] = "unmeasured";
  EXPECT_EQ(runs(selection), "unmeasured");
}

TEST(Cover, UnknownVariantsAndOpsWithoutAnyAreRefused) {
  const Program program = program_of(tests::tiny_model());
  Selection selection;
  selection.variants[Op::conv2d_forward] = "winograd";
  EXPECT_THROW(cover(program, selection, cpu()), core::BadInput);
  EXPECT_THROW(cover(program, Selection{Precision::fp16, {}}, cpu()), core::BadInput);
}

/// The first layer picks rows of weights instead of multiplying with zeros, which are not even made.
void expect_rows(const core::DeviceInfo& device) {
  const Program program = program_of(tests::tiny_text_model());
  const auto nodes = cover(program, Selection{Precision::fp32, {}}, device);
  expect_consistent(program, nodes);
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv1")),
            "gather_rows, with one_hot, bias, relu");
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv1")),
            "scatter_rows, with one_hot");
  EXPECT_EQ(node_of(program, nodes, Op::one_hot_forward, "first").variant, nullptr);
  const NodeCover& later = node_of(program, nodes, Op::conv2d_forward, "conv2");
  EXPECT_NE(later.variant->name, "gather_rows");
  EXPECT_EQ(later.reason.find("gather_rows"), std::string::npos) << later.reason;
}

TEST(RowCover, TheFirstLayerOfATextNetworkPicksRows) {
  expect_rows(core::open_device("cpu")->info());
  if (has_gpu_variants()) expect_rows(gpu(90));
}

/// What computes the gradients of conv1's weights on a GPU of compute capability `capability`.
NodeCover gradients_of(const models::Model& model, Precision precision, int capability) {
  const Program program = program_of(model, Purpose::training, precision);
  const auto nodes = cover(program, Selection{precision, {}}, gpu(capability));
  expect_consistent(program, nodes);
  const NodeCover& bias = node_of(program, nodes, Op::conv2d_backward_bias, "conv1");
  const bool covered =
      bias.covered_by == static_cast<int>(index_of(program, Op::conv2d_backward_weights, "conv1"));
  NodeCover own = node_of(program, nodes, Op::conv2d_backward_weights, "conv1");
  EXPECT_EQ(covered, own.shape.covered.has(Op::conv2d_backward_bias));
  return own;
}

TEST(RowCover, InSixteenBitsTensorCoresAddTheRowsAndTheBias) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  for (const models::Model& model : {tests::tiny_text_model(), models::find_model("char_cnn")}) {
    for (const int capability : {80, 90, 120}) {
      for (const Precision precision : {Precision::fp16, Precision::bf16}) {
        const NodeCover node = gradients_of(model, precision, capability);
        EXPECT_EQ(describe(node), "mma_rows, with one_hot, conv2d.backward_bias") << model.name;
        EXPECT_EQ(node.reason, "");
      }
      EXPECT_EQ(describe(gradients_of(model, Precision::tf32, capability)), "scatter_rows, with one_hot");
    }
    EXPECT_EQ(describe(gradients_of(model, Precision::fp16, 75)), "scatter_rows, with one_hot");
  }
}

TEST(RowCover, WhatTensorCoresRefuseIsScattered) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  models::Model model = tests::tiny_text_model();
  model.layers[1].out_channels = 20;
  models::fit_layers(model);
  const NodeCover node = gradients_of(model, Precision::fp16, 90);
  EXPECT_EQ(describe(node), "scatter_rows, with one_hot");
  EXPECT_EQ(node.reason, "not mma_rows: takes filters in multiples of 8");
}

TEST(RowCover, WhatIsLookedAtIsMade) {
  const Program program = program_of(tests::tiny_text_model(), Purpose::inspection);
  const auto nodes = cover(program, Selection{Precision::fp32, {}}, core::open_device("cpu")->info());
  expect_consistent(program, nodes);
  EXPECT_NE(node_of(program, nodes, Op::one_hot_forward, "first").variant, nullptr);
}

TEST(RowCover, AChosenOpRunsByItself) {
  const Program program = program_of(tests::tiny_text_model());
  Selection selection{Precision::fp32, {}};
  selection.variants[Op::one_hot_forward] = "loops";
  const auto nodes = cover(program, selection, core::open_device("cpu")->info());
  expect_consistent(program, nodes);
  EXPECT_NE(node_of(program, nodes, Op::one_hot_forward, "first").variant, nullptr);
  const NodeCover& convolution = node_of(program, nodes, Op::conv2d_forward, "conv1");
  EXPECT_NE(convolution.variant->name, "gather_rows");
  EXPECT_NE(convolution.reason.find("one_hot.forward=loops was chosen"), std::string::npos)
      << convolution.reason;
}

TEST(RowCover, ElsewhereItIsNotChosenUnlessAskedFor) {
  const Program program = program_of(tests::tiny_model());
  Selection selection{Precision::fp32, {}};
  selection.variants[Op::conv2d_forward] = "gather_rows";
  const auto nodes = cover(program, selection, core::open_device("cpu")->info());
  const NodeCover& convolution = node_of(program, nodes, Op::conv2d_forward, "conv1");
  EXPECT_NE(convolution.variant->name, "gather_rows");
  EXPECT_NE(convolution.reason.find("there is no one_hot.forward"), std::string::npos) << convolution.reason;
}

TEST(RowCover, AChoiceForTheFirstLayerLeavesLaterOnesThatItWouldRefuse) {
  const Program program = program_of(models::find_model("char_cnn"));
  Selection selection{Precision::fp32, {}};
  selection.variants[Op::conv2d_forward] = "gather_rows";
  const auto nodes = cover(program, selection, core::open_device("cpu")->info());
  expect_consistent(program, nodes);
  EXPECT_EQ(node_of(program, nodes, Op::conv2d_forward, "conv1").variant->name, "gather_rows");
  const NodeCover& later = node_of(program, nodes, Op::conv2d_forward, "conv2");
  EXPECT_GT(later.shape.in_channels, 255);
  EXPECT_EQ(later.reason.find("not gather_rows: there is no one_hot.forward"), 0u) << later.reason;
}

TEST(RowCover, RowsInSharedMemoryAreTakenWhereTheyAreChosen) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  for (const models::Model& model : {tests::tiny_text_model(), models::find_model("char_cnn")}) {
    for (const Precision precision : core::selectable_precisions()) {
      const Program program = program_of(model, Purpose::training, precision);
      const auto first = [&](const Selection& selection) {
        const auto nodes = cover(program, selection, gpu(80));
        expect_consistent(program, nodes);
        EXPECT_NE(node_of(program, nodes, Op::conv2d_forward, "conv2").variant->name, "shared_rows");
        return describe(node_of(program, nodes, Op::conv2d_forward, "conv1"));
      };
      Selection selection{precision, {}};
      EXPECT_EQ(first(selection), "gather_rows, with one_hot, bias, relu") << model.name;
      selection.variants[Op::conv2d_forward] = "shared_rows";
      EXPECT_EQ(first(selection), "shared_rows, with one_hot, bias, relu") << model.name;
    }
  }
}

TEST(RowCover, RowsThatDoNotFitIntoSharedMemoryAreRefused) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  const Variant& variant = *ops::find_variant(Op::conv2d_forward, DeviceKind::cuda, "shared_rows");
  ops::OpShape shape{.width = 100, .in_channels = 111, .out_channels = 64, .kernel_width = 7};
  EXPECT_EQ(variant.refuses(shape), "");
  ++shape.in_channels;
  EXPECT_EQ(variant.refuses(shape),
            "its table of 112 characters and 7 taps takes 99 KB of shared memory, at most 98");
  shape.in_channels = 3;
  shape.kernel_width = 19;
  EXPECT_EQ(variant.refuses(shape), "takes kernels of at most 17 taps");
  shape.kernel_width = 17;
  shape.dilation = 2;
  EXPECT_EQ(variant.refuses(shape), "takes kernels of one row, without stride and dilation");
  shape.dilation = 1;
  shape.out_channels = 20;
  EXPECT_EQ(variant.refuses(shape), "takes filters in multiples of 8");
}

class HopperCover : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  }
  const models::Model autoencoder = models::find_model("autoencoder");
};

TEST_F(HopperCover, ATrainingStepOfTheAutoencoderIsOneCallALayerAndPass) {
  const Program program = program_of(autoencoder, Purpose::training, Precision::bf16);
  const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(90));
  expect_consistent(program, nodes);
  using enum Op;
  EXPECT_EQ(launches(program, nodes), (std::vector<Op>{weights_cast,          batch_gather,
                                                       conv2d_forward,        conv2d_forward,
                                                       conv2d_forward,        conv2d_forward,
                                                       conv2d_forward,        mse_forward,
                                                       mse_backward,          conv2d_backward_weights,
                                                       conv2d_backward_input, conv2d_backward_weights,
                                                       conv2d_backward_input, conv2d_backward_weights,
                                                       conv2d_backward_input, conv2d_backward_weights,
                                                       conv2d_backward_input, conv2d_backward_weights,
                                                       optimizer_update,      step_record}));
  EXPECT_EQ(describe(node_of(program, nodes, conv2d_forward, "conv1")), "hopper, with bias, relu, maxpool2d");
  EXPECT_EQ(describe(node_of(program, nodes, conv2d_forward, "conv4")),
            "hopper, with bias, relu, upsample2d");
  EXPECT_EQ(describe(node_of(program, nodes, conv2d_forward, "conv5")), "hopper, with bias, upsample2d");
  EXPECT_EQ(node_of(program, nodes, conv2d_backward_weights, "conv4").shape.covered,
            (OpSet{upsample2d_forward, conv2d_backward_bias}));
  EXPECT_EQ(node_of(program, nodes, conv2d_backward_weights, "conv1").shape.covered,
            (OpSet{maxpool2d_backward, conv2d_backward_bias}));
  EXPECT_EQ(node_of(program, nodes, conv2d_backward_input, "conv5").shape.covered,
            (OpSet{upsample2d_backward, relu_backward}));
  EXPECT_EQ(node_of(program, nodes, conv2d_backward_input, "conv2").shape.covered,
            (OpSet{maxpool2d_backward, relu_backward}));
  for (const NodeCover& node : nodes) EXPECT_EQ(node.reason, "");
}

TEST_F(HopperCover, SmallImagesShareAPatchWhereThatIsChosen) {
  const models::Model classifier = models::find_model("classifier");
  const Program program = program_of(classifier, Purpose::training, Precision::bf16);
  Selection selection{Precision::bf16, {}};
  for (const Op op : {Op::conv2d_forward, Op::conv2d_backward_weights, Op::conv2d_backward_input}) {
    EXPECT_EQ(automatic_variant(op, gpu(90), Precision::bf16)->name, "hopper");
    selection.variants[op] = "hopper_small";
  }
  const auto nodes = cover(program, selection, gpu(90));
  expect_consistent(program, nodes);
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv2")),
            "hopper_small, with bias, relu, maxpool2d");
}

TEST_F(HopperCover, InferenceKeepsWhatIsShown) {
  for (const Precision precision : core::selectable_precisions()) {
    const Program program = program_of(autoencoder, Purpose::inference, precision);
    const auto nodes = cover(program, Selection{precision, {}}, gpu(90));
    expect_consistent(program, nodes);
  }
}

TEST_F(HopperCover, OtherGpusRunWhatTheyCan) {
  const Program program = program_of(autoencoder, Purpose::training, Precision::bf16);
  const auto ampere = cover(program, Selection{Precision::bf16, {}}, gpu(80));
  expect_consistent(program, ampere);
  EXPECT_EQ(node_of(program, ampere, Op::conv2d_forward, "conv1").variant->name, "narrow");
  const Program single = program_of(autoencoder, Purpose::training, Precision::fp32);
  const auto hopper = cover(single, Selection{Precision::fp32, {}}, gpu(90));
  expect_consistent(single, hopper);
  EXPECT_EQ(node_of(single, hopper, Op::conv2d_forward, "conv1").variant->name, "fused");
}

// A plain backward pass reads the upsampled image and the codes of the pooling as they are.
TEST_F(HopperCover, APlainBackwardPassMakesForwardStoreWhatItReads) {
  const Program program = program_of(autoencoder, Purpose::training, Precision::bf16);
  Selection selection{Precision::bf16, {}};
  selection.variants[Op::conv2d_backward_weights] = "mma";
  const auto nodes = cover(program, selection, gpu(90));
  expect_consistent(program, nodes);
  EXPECT_NE(node_of(program, nodes, Op::upsample2d_forward, "up3").variant, nullptr);
  const NodeCover& pooled = node_of(program, nodes, Op::conv2d_forward, "conv1");
  EXPECT_FALSE(pooled.shape.covered.has(Op::maxpool2d_forward));
  EXPECT_NE(pooled.reason, "");
  EXPECT_NE(node_of(program, nodes, Op::maxpool2d_backward, "pool1").variant, nullptr);
  EXPECT_FALSE(
      node_of(program, nodes, Op::conv2d_backward_input, "conv2").shape.covered.has(Op::maxpool2d_backward));
}

TEST_F(HopperCover, EverySelectionOfOneVariantIsConsistent) {
  for (const char* name : {"autoencoder", "classifier", "mlp"}) {
    for (const Precision precision : core::selectable_precisions()) {
      const Program program = program_of(models::find_model(name), Purpose::training, precision);
      for (const Variant& variant : ops::variants()) {
        if (!ops::unavailable_reason(variant, gpu(90), precision).empty()) continue;
        Selection selection{precision, {}};
        selection.variants[variant.op] = variant.name;
        SCOPED_TRACE(std::string(name) + " " + to_string(selection));
        try {
          const auto nodes = cover(program, selection, gpu(90));
          expect_consistent(program, nodes);
          for (std::size_t n = 0; n < nodes.size(); ++n) {
            if (program.nodes[n].op != variant.op) continue;
            ASSERT_NE(nodes[n].variant, nullptr) << "a chosen op runs by itself";
            if (nodes[n].variant->name != variant.name) {
              EXPECT_NE(nodes[n].reason, "");
            }
          }
        } catch (const core::BadInput& error) {
          EXPECT_NE(std::string(error.what()).find(variant.name), std::string::npos) << error.what();
        }
      }
    }
  }
}

TEST_F(HopperCover, AStepOfTheNetworkOfLinearLayersIsTenLaunches) {
  const Program program = program_of(models::find_model("mlp"));
  const auto nodes = cover(program, {}, gpu(90));
  expect_consistent(program, nodes);
  using enum Op;
  EXPECT_EQ(launches(program, nodes),
            (std::vector<Op>{batch_gather, linear_forward, linear_forward, linear_forward,
                             cross_entropy_forward, linear_backward_weights, linear_backward_weights,
                             linear_backward_weights, optimizer_update, step_record}));
}

TEST_F(HopperCover, AConvolutionBeforeALinearLayerGetsAMaskedGradient) {
  const Program program = program_of(models::find_model("classifier"), Purpose::training, Precision::bf16);
  const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(90));
  expect_consistent(program, nodes);
  const auto list = launches(program, nodes);
  EXPECT_EQ(std::count(list.begin(), list.end(), Op::maxpool2d_backward), 0);
  EXPECT_EQ(std::count(list.begin(), list.end(), Op::conv2d_backward_input), 1);
}

/// A convolution on images of `extent` with 128 channels, without a bias, whose output a linear layer reads.
models::Model without_bias(models::LayerKind kind, int height, int width) {
  models::Model model{.name = "own", .height = height, .width = width, .channels = 64, .layers = {}};
  const bool one_dimension = kind == models::LayerKind::conv1d;
  model.layers = {{.kind = kind,
                   .name = "conv1",
                   .out_channels = 128,
                   .kernel = 3,
                   .bias = false,
                   .valid = one_dimension},
                  {.kind = models::LayerKind::relu, .name = "relu1"},
                  {.kind = kind,
                   .name = "conv2",
                   .out_channels = 64,
                   .kernel = 7,
                   .bias = one_dimension,
                   .valid = one_dimension},
                  {.kind = models::LayerKind::linear, .name = "fc", .out_channels = 10}};
  if (!one_dimension) model.layers[2].kernel = 3;
  model.loss = models::Loss::cross_entropy;
  model.classes = 10;
  models::fit_layers(model);
  return model;
}

TEST_F(HopperCover, AConvolutionWithoutBiasIsNoSlowerOne) {
  const models::Model model = without_bias(models::LayerKind::conv2d, 8, 8);
  const Program program = program_of(model, Purpose::training, Precision::bf16);
  const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(90));
  expect_consistent(program, nodes);
  using enum Op;
  EXPECT_EQ(describe(node_of(program, nodes, conv2d_forward, "conv1")), "hopper, with relu");
  EXPECT_EQ(describe(node_of(program, nodes, conv2d_forward, "conv2")), "hopper");
  EXPECT_EQ(describe(node_of(program, nodes, conv2d_backward_weights, "conv1")), "hopper");
  EXPECT_EQ(describe(node_of(program, nodes, conv2d_backward_input, "conv2")), "hopper, with relu.backward");
}

TEST_F(HopperCover, AConvolutionOfOneDimensionWithoutPaddingRunsOnItToo) {
  const models::Model model = without_bias(models::LayerKind::conv1d, 1, 40);
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    const Program program = program_of(model, Purpose::training, precision);
    const auto nodes = cover(program, Selection{precision, {}}, gpu(90));
    expect_consistent(program, nodes);
    using enum Op;
    EXPECT_EQ(describe(node_of(program, nodes, conv2d_forward, "conv1")), "hopper, with relu");
    EXPECT_EQ(describe(node_of(program, nodes, conv2d_forward, "conv2")), "hopper, with bias");
    EXPECT_EQ(describe(node_of(program, nodes, conv2d_backward_weights, "conv2")),
              "hopper, with conv2d.backward_bias");
    EXPECT_EQ(describe(node_of(program, nodes, conv2d_backward_input, "conv2")),
              "hopper, with relu.backward");
  }
}

TEST_F(HopperCover, AReluBehindANormalizationIsNoLaunchOfItsOwn) {
  for (const models::LayerKind kind : {models::LayerKind::batch_norm, models::LayerKind::layer_norm}) {
    models::Model model = without_bias(models::LayerKind::conv2d, 8, 8);
    model.layers.insert(model.layers.begin() + 1, {.kind = kind, .name = "norm1"});
    models::fit_layers(model);
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Program program = program_of(model, purpose, Precision::fp16);
      const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(90));
      expect_consistent(program, nodes);
      EXPECT_EQ(node_of(program, nodes, Op::relu_forward, "relu1").variant, nullptr);
    }
  }
}

TEST(Cover, AHeadLeavesTheOthersTheirCalls) {
  const Program program = program_of(models::with_head(tests::tiny_model(), 3));
  const auto nodes = cover(program, {}, cpu());
  expect_consistent(program, nodes);
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv1")), "onednn_fused, with bias, relu");
  EXPECT_NE(node_of(program, nodes, Op::add_forward, "head").variant, nullptr);
}

TEST_F(HopperCover, AHeadOnTheLatentsIsConsistentInEveryPrecision) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
    const Program program = program_of(models::with_head(autoencoder, 10), Purpose::training, precision);
    const auto nodes = cover(program, Selection{precision, {}}, gpu(90));
    expect_consistent(program, nodes);
    EXPECT_EQ(node_of(program, nodes, Op::add_forward, "head").variant->name, "vectorized");
    EXPECT_EQ(node_of(program, nodes, Op::conv2d_forward, "conv4").shape.covered,
              node_of(program_of(autoencoder, Purpose::training, precision),
                      cover(program_of(autoencoder, Purpose::training, precision), Selection{precision, {}},
                            gpu(90)),
                      Op::conv2d_forward, "conv4")
                  .shape.covered)
        << "the decoder runs as without a head";
  }
}

/// A convolution on 9x9 (in one dimension 1x20) and what the variant `pooled` of batch_norm covers behind it; windows of
/// 2x2 and of 1x3 leave something over.
models::Model pooled_norm(bool one_dimension) {
  using enum models::LayerKind;
  models::Model model{.name = "own", .height = 9, .width = 9, .channels = 3, .layers = {}};
  if (one_dimension) model.height = 1, model.width = 20;
  model.layers = {
      {.kind = one_dimension ? conv1d : conv2d,
       .name = "conv1",
       .out_channels = 16,
       .kernel = 3,
       .bias = false},
      {.kind = batch_norm, .name = "bn1"},
      {.kind = relu, .name = "relu1"},
      {.kind = one_dimension ? maxpool1d : maxpool2d, .name = "pool1", .kernel = one_dimension ? 3 : 2},
      {.kind = linear, .name = "fc", .out_channels = 10}};
  model.loss = models::Loss::cross_entropy;
  model.classes = 10;
  models::fit_layers(model);
  return model;
}

/// Where `pooled` can be chosen: on the CPU among the variants that there are and three of that name.
struct PooledCase {
  core::DeviceInfo device;
  std::vector<Variant> variants;
};

std::vector<PooledCase> pooled_cases() {
  PooledCase on_cpu{cpu(), {ops::variants().begin(), ops::variants().end()}};
  const auto add = [&](Op op, std::vector<ops::Link> chain) {
    on_cpu.variants.push_back({.op = op,
                               .name = "pooled",
                               .precisions = {Precision::fp32},
                               .by_default = false,
                               .chain = std::move(chain),
                               .summary = "",
                               .launch = [](const ops::OpCall&) {}});
  };
  add(Op::batch_norm_forward, ops::pooling_after(Op::batch_norm_forward));
  add(Op::batch_norm_infer, ops::pooling_after(Op::batch_norm_infer));
  add(Op::batch_norm_backward, ops::unpooling_before(Op::batch_norm_backward));
  std::vector<PooledCase> cases{on_cpu};
  if (has_gpu_variants()) cases.push_back({gpu(90), {ops::variants().begin(), ops::variants().end()}});
  return cases;
}

Selection choosing_pooled() {
  Selection selection;
  for (const Op op : {Op::batch_norm_forward, Op::batch_norm_infer, Op::batch_norm_backward}) {
    selection.variants[op] = "pooled";
  }
  return selection;
}

/// The tensor behind an operand of a call, or -1.
int tensor_of(const NodeCover& node, Name name) {
  for (const BoundOperand& each : node.operands) {
    if (each.operand.name == name) return each.tensor;
  }
  return -1;
}

TEST(PooledNorm, ComputesTheReluAndThePoolingInOneCallWhereItIsChosen) {
  for (const PooledCase& on : pooled_cases()) {
    for (const bool one_dimension : {false, true}) {
      const Program program = program_of(pooled_norm(one_dimension));
      const auto nodes = cover_among(on.variants, program, choosing_pooled(), on.device);
      expect_consistent(program, nodes);
      const std::size_t own = index_of(program, Op::batch_norm_forward, "bn1");
      const Node& norm = program.nodes[own];
      const Node& pool = program.nodes[index_of(program, Op::maxpool2d_forward, "pool1")];
      const NodeCover& call = nodes[own];
      EXPECT_EQ(describe(call), "pooled, with relu, maxpool2d");
      EXPECT_EQ(call.reason, "");
      EXPECT_EQ(call.shape.window_height, one_dimension ? 1 : 2);
      EXPECT_EQ(call.shape.window_width, one_dimension ? 3 : 2);
      EXPECT_EQ(call.operands.size(), 6u) << "input, weights, bias, statistics, output, argmax";
      EXPECT_EQ(tensor_of(call, Name::input), norm.tensors[0]);
      EXPECT_EQ(tensor_of(call, Name::statistics), norm.tensors[4]);
      EXPECT_EQ(tensor_of(call, Name::output), pool.tensors[1]);
      EXPECT_EQ(tensor_of(call, Name::argmax), pool.tensors[2]);
      for (const Op covered : {Op::relu_forward, Op::maxpool2d_forward}) {
        const char* layer = covered == Op::relu_forward ? "relu1" : "pool1";
        EXPECT_EQ(node_of(program, nodes, covered, layer).covered_by, static_cast<int>(own));
      }
    }
  }
}

TEST(PooledNorm, SpreadsTheGradientOfThePoolingInTheSameCall) {
  for (const PooledCase& on : pooled_cases()) {
    for (const bool one_dimension : {false, true}) {
      const Program program = program_of(pooled_norm(one_dimension));
      const auto nodes = cover_among(on.variants, program, choosing_pooled(), on.device);
      const std::size_t own = index_of(program, Op::batch_norm_backward, "bn1");
      const Node& unpool = program.nodes[index_of(program, Op::maxpool2d_backward, "pool1")];
      const NodeCover& call = nodes[own];
      EXPECT_EQ(describe(call), "pooled, with maxpool2d.backward");
      EXPECT_EQ(call.shape.window_height, one_dimension ? 1 : 2);
      EXPECT_EQ(call.shape.window_width, one_dimension ? 3 : 2);
      EXPECT_EQ(tensor_of(call, Name::input), program.nodes[own].tensors[0]);
      EXPECT_EQ(tensor_of(call, Name::output_gradient), unpool.tensors[0]);
      EXPECT_EQ(tensor_of(call, Name::argmax), unpool.tensors[1]);
      EXPECT_EQ(tensor_of(call, Name::input_gradient), program.nodes[own].tensors[4]);
      EXPECT_EQ(tensor_of(call, Name::unpooled), -1) << "nobody stores it";
      EXPECT_EQ(node_of(program, nodes, Op::maxpool2d_backward, "pool1").variant, nullptr);
      EXPECT_NE(node_of(program, nodes, Op::relu_backward, "relu1").covered_by, static_cast<int>(own))
          << "the mask is that of the pooled image";
    }
  }
}

TEST(PooledNorm, RunsInInferenceToo) {
  for (const PooledCase& on : pooled_cases()) {
    const Program program = program_of(pooled_norm(false), Purpose::inference);
    const auto nodes = cover_among(on.variants, program, choosing_pooled(), on.device);
    expect_consistent(program, nodes);
    EXPECT_EQ(describe(node_of(program, nodes, Op::batch_norm_infer, "bn1")), "pooled, with relu, maxpool2d");
  }
}

TEST(PooledNorm, RunsNowhereUnlessItIsChosen) {
  for (const PooledCase& on : pooled_cases()) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Program program = program_of(pooled_norm(false), purpose);
      const auto nodes = cover_among(on.variants, program, {}, on.device);
      expect_consistent(program, nodes);
      for (const NodeCover& node : nodes) {
        EXPECT_FALSE(node.variant != nullptr && node.variant->name == "pooled");
      }
      EXPECT_NE(node_of(program, nodes, Op::maxpool2d_forward, "pool1").variant, nullptr);
    }
  }
}

TEST(PooledNorm, AnotherVariantRunsWhereItCannot) {
  for (const PooledCase& on : pooled_cases()) {
    const Program shown = program_of(pooled_norm(false), Purpose::inspection);
    auto nodes = cover_among(on.variants, shown, choosing_pooled(), on.device);
    expect_consistent(shown, nodes);
    EXPECT_NE(node_of(shown, nodes, Op::batch_norm_infer, "bn1").variant->name, "pooled");

    const Program program = program_of(pooled_norm(false));
    Selection selection = choosing_pooled();
    selection.variants[Op::maxpool2d_backward] = "reference";
    if (on.device.kind == DeviceKind::cuda) selection.variants[Op::maxpool2d_backward] = "direct";
    nodes = cover_among(on.variants, program, selection, on.device);
    expect_consistent(program, nodes);
    EXPECT_NE(node_of(program, nodes, Op::maxpool2d_backward, "pool1").variant, nullptr);
    const NodeCover& norm = node_of(program, nodes, Op::batch_norm_backward, "bn1");
    EXPECT_NE(norm.variant->name, "pooled");
    EXPECT_NE(norm.reason.find("was chosen and runs by itself"), std::string::npos) << norm.reason;
  }
}

}  // namespace
}  // namespace warpscope::plan
