// Which variant runs each op, and which ops a call covers.

#include "gpu/plan/cover.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/plan/cover_support.h"
#include "tests/support/tiny.h"
#include "tests/support/tiny_text.h"

namespace warpscope::plan::cover_test {
namespace {

using core::DeviceKind;
using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;

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
            fmt::format("{}_rows, with one_hot, bias, relu",
                        device.kind == core::DeviceKind::cuda ? "shared" : "gather"));
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv1")),
            "scatter_rows, with one_hot");
  EXPECT_EQ(node_of(program, nodes, Op::one_hot_forward, "first").variant, nullptr);
  const NodeCover& later = node_of(program, nodes, Op::conv2d_forward, "conv2");
  EXPECT_NE(later.variant->name, "gather_rows");
  EXPECT_EQ(later.reason.find("_rows"), std::string::npos) << later.reason;
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
        EXPECT_EQ(describe(node), fmt::format("{}_rows, with one_hot, conv2d.backward_bias",
                                              capability == 90 ? "hopper" : "mma"))
            << model.name;
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
  const NodeCover node = gradients_of(model, Precision::fp16, 80);
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

TEST(RowCover, TheRowsLieInSharedMemory) {
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
      EXPECT_EQ(first(selection), "shared_rows, with one_hot, bias, relu") << model.name;
      selection.variants[Op::conv2d_forward] = "gather_rows";
      EXPECT_EQ(first(selection), "gather_rows, with one_hot, bias, relu") << model.name;
    }
  }
}

TEST(RowCover, InferenceTakesTheNormAndThePoolingBehindTheFirstLayerAlong) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  const auto first = [](Purpose purpose, int capability) {
    const Program program = program_of(models::find_model("char_cnn_ln"), purpose, Precision::fp16);
    const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(capability));
    expect_consistent(program, nodes);
    return describe(node_of(program, nodes, Op::conv2d_forward, "conv1"));
  };
  EXPECT_EQ(first(Purpose::inference, 90),
            "shared_rows_normed, with one_hot, bias, relu, maxpool2d, layer_norm");
  EXPECT_EQ(first(Purpose::inference, 80), "shared_rows, with one_hot, bias");
  EXPECT_EQ(first(Purpose::training, 90), "shared_rows, with one_hot, bias")
      << "the gradient reads its output";
}

TEST(RowCover, WhatTheCallOmitsIsStoredWhereItIsLookedAt) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  Program program = program_of(models::find_model("char_cnn_ln"), Purpose::inference, Precision::fp16);
  const auto first = [&] {
    const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(90));
    expect_consistent(program, nodes);
    return node_of(program, nodes, Op::conv2d_forward, "conv1");
  };
  for (const ops::CallOperand& each : ops::operands_of(*first().variant, first().shape))
    EXPECT_NE(each.name, ops::Name::argmax);
  const auto places = std::find_if(program.tensors.begin(), program.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.name == "pool1.argmax"; });
  ASSERT_NE(places, program.tensors.end());
  places->kept = true;
  EXPECT_EQ(describe(first()), "shared_rows, with one_hot, bias");
  EXPECT_NE(first().reason.find("what is shown must be stored"), std::string::npos) << first().reason;
}

TEST(Automatic, IsWhatRunsWithoutOtherOps) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  const auto name = [](Op op) { return automatic_variant(op, gpu(90), Precision::fp16)->name; };
  EXPECT_EQ(name(Op::conv2d_backward_weights), "hopper");
  EXPECT_EQ(name(Op::batch_norm_forward), "welford");
  EXPECT_EQ(name(Op::layer_norm_forward), "warp_shuffle");
}

TEST(RowCover, RowsThatDoNotFitIntoSharedMemoryAreRefused) {
  if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
  const Variant& variant =
      *ops::find_variant(*ops::built_in_variants(), Op::conv2d_forward, DeviceKind::cuda, "shared_rows");
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

TEST_F(HopperCover, AConvolutionThatHopperLacksRunsAsAGeneralOne) {
  models::Model model = autoencoder;
  std::erase_if(model.layers, [](const models::Layer& layer) { return layer.name == "pool2"; });
  for (models::Layer& layer : model.layers) {
    if (layer.name == "conv2") layer.stride = 2;
  }
  const Program program = program_of(model, Purpose::training, Precision::bf16);
  const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& general = node_of(program, nodes, Op::conv2d_forward, "conv2");
  EXPECT_EQ(describe(general), "hopper_general, with bias, relu");
  EXPECT_EQ(general.reason, "");
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_input, "conv2")),
            "hopper_general, with relu.backward");
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv2")),
            "hopper_general, with conv2d.backward_bias");
  const NodeCover& wide = node_of(program, nodes, Op::conv2d_forward, "conv3");
  EXPECT_EQ(wide.variant->name, "hopper");
  EXPECT_EQ(wide.reason, "");
}

TEST_F(HopperCover, GradientsOfWeightsInTf32AreTurnedWhereNoPoolingIsCovered) {
  const Program program = program_of(autoencoder, Purpose::training, Precision::tf32);
  const auto nodes = cover(program, Selection{Precision::tf32, {}}, gpu(90));
  expect_consistent(program, nodes);
  const auto described = [&](const char* layer) {
    return describe(node_of(program, nodes, Op::conv2d_backward_weights, layer));
  };
  EXPECT_EQ(described("conv2"), "hopper, with conv2d.backward_bias, maxpool2d.backward");
  EXPECT_EQ(described("conv3"), "hopper_general_turned, with conv2d.backward_bias");
  EXPECT_EQ(described("conv4"), "hopper, with upsample2d, conv2d.backward_bias");
}

TEST_F(HopperCover, ADilatedFirstLayerAndALastOneThatIsNotUpsampledRunAsOnesOfFewChannels) {
  models::Model model = autoencoder;
  std::erase_if(model.layers, [](const auto& each) { return each.name == "pool1" || each.name == "up4"; });
  for (models::Layer& layer : model.layers) {
    if (layer.name == "conv1") layer.dilation = 2;
  }
  const Program program = program_of(model, Purpose::training, Precision::bf16);
  for (const int capability : {80, 90}) {
    const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(capability));
    expect_consistent(program, nodes);
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv1")),
              "few_channels, with bias, relu");
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv1")),
              "few_channels, with conv2d.backward_bias");
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_input, "conv5")),
              "few_channels, with relu.backward");
  }
}

TEST_F(HopperCover, AConvolutionWithAStrideInFp32IsPipelined) {
  models::Model model = autoencoder;
  std::erase_if(model.layers, [](const models::Layer& layer) { return layer.name == "pool2"; });
  for (models::Layer& layer : model.layers) {
    if (layer.name == "conv2") layer.stride = 2;
  }
  const Program program = program_of(model, Purpose::training, Precision::fp32);
  for (const int capability : {80, 90}) {
    const auto nodes = cover(program, Selection{Precision::fp32, {}}, gpu(capability));
    expect_consistent(program, nodes);
    const NodeCover& forward = node_of(program, nodes, Op::conv2d_forward, "conv2");
    EXPECT_EQ(describe(forward), "pipelined, with bias, relu");
    EXPECT_EQ(forward.reason, "");
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_input, "conv2")),
              "pipelined, with relu.backward");
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv2")),
              "pipelined, with conv2d.backward_bias");
  }
}

TEST_F(HopperCover, AFirstLayerInFp32IsPipelinedWhereItIsNotPlain) {
  models::Model model = autoencoder;
  std::erase_if(model.layers, [](const models::Layer& layer) { return layer.name == "pool1"; });
  for (models::Layer& layer : model.layers) {
    if (layer.name == "conv1") layer.stride = 2;
  }
  const Program plain = program_of(autoencoder, Purpose::training, Precision::fp32);
  const Program program = program_of(model, Purpose::training, Precision::fp32);
  for (const int capability : {80, 90}) {
    const auto nodes = cover(program, Selection{Precision::fp32, {}}, gpu(capability));
    expect_consistent(program, nodes);
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv1")), "pipelined, with bias, relu");
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv1")),
              "pipelined, with conv2d.backward_bias");
    const auto plain_nodes = cover(plain, Selection{Precision::fp32, {}}, gpu(capability));
    EXPECT_EQ(describe(node_of(plain, plain_nodes, Op::conv2d_forward, "conv1")),
              "fused, with bias, relu, maxpool2d");
  }
}

TEST_F(HopperCover, APoolingBehindAPipelinedConvolutionIsAPassOfItsOwn) {
  models::Model model = autoencoder;
  for (models::Layer& layer : model.layers) {
    if (layer.name == "conv2") {
      layer.out_channels = 96;
      layer.kernel = 1;
    }
    if (layer.name == "conv3") layer.in_channels = 96;
  }
  const Program program = program_of(model, Purpose::training, Precision::fp32);
  const auto nodes = cover(program, Selection{Precision::fp32, {}}, gpu(90));
  expect_consistent(program, nodes);
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv2")), "pipelined, with bias, relu");
  EXPECT_EQ(node_of(program, nodes, Op::maxpool2d_forward, "pool2").variant->name, "vectorized");
  EXPECT_EQ(node_of(program, nodes, Op::maxpool2d_backward, "pool2").variant->name, "direct");
  EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv2")),
            "fused, with conv2d.backward_bias");
}

TEST_F(HopperCover, AConvolutionOfFewChannelsReadsPatches) {
  models::Model model = autoencoder;
  for (models::Layer& layer : model.layers) {
    if (layer.name == "conv2") layer.out_channels = 24;
    if (layer.name == "conv3") layer.in_channels = 24;
    if (layer.name == "conv3") layer.out_channels = 16;
    if (layer.name == "conv4") layer.in_channels = 16;
  }
  const Program program = program_of(model, Purpose::training, Precision::bf16);
  for (const int capability : {80, 90}) {
    const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(capability));
    expect_consistent(program, nodes);
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_forward, "conv3")), "patches, with bias, relu");
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_input, "conv3")),
              "patches, with relu.backward");
    EXPECT_EQ(describe(node_of(program, nodes, Op::conv2d_backward_weights, "conv3")),
              "patches, with conv2d.backward_bias");
    for (const NodeCover& node : nodes) EXPECT_EQ(node.reason, "");
  }
}

TEST_F(HopperCover, AGeneralConvolutionOfFewProductsYieldsToACallThatCoversItsPooling) {
  models::Model model = autoencoder;
  for (models::Layer& layer : model.layers) {
    if (layer.name == "conv1") layer.out_channels = 32;
    if (layer.name == "conv2") layer.in_channels = 32;
    if (layer.name == "conv2") layer.out_channels = 96;
    if (layer.name == "conv3") layer.in_channels = 96;
  }
  const Program program = program_of(model, Purpose::training, Precision::bf16);
  const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& pooled = node_of(program, nodes, Op::conv2d_forward, "conv2");
  EXPECT_EQ(describe(pooled), "hopper, with bias, relu, maxpool2d");
  EXPECT_EQ(pooled.reason, "");
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
      for (const Variant& variant : *ops::built_in_variants()) {
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
                   .valid = one_dimension}};
  if (!one_dimension) model.layers[2].kernel = 3;
  return classifying(std::move(model));
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
    // In TF32 what is summed must be innermost, for which operands are turned first.
    const std::string weights = precision == Precision::tf32 ? "hopper_general_turned" : "hopper";
    EXPECT_EQ(describe(node_of(program, nodes, conv2d_backward_weights, "conv2")),
              weights + ", with conv2d.backward_bias");
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

}  // namespace
}  // namespace warpscope::plan::cover_test
