// A convolution of one dimension and the max pooling in threes behind it in one call, or the gradient of the one before
// it: where the variants `hopper_pooled` and `hopper_unpooled` run, and what they read and write.

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"

namespace warpscope::plan::pooled_lines_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;

class PooledLines : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu_variants()) GTEST_SKIP() << "this build has no CUDA";
    if (ops::find_variant(*ops::built_in_variants(), Op::conv2d_forward, core::DeviceKind::cuda,
                          "hopper_pooled") == nullptr) {
      GTEST_SKIP() << "this build has no code for compute capability 9.0";
    }
  }
};

/// conv1, relu1, pool1 and conv2 in one dimension; windows of three, or of two, drop a position of 31.
models::Model pooled_line(int window, int width = 31) {
  using enum models::LayerKind;
  models::Model model{.name = "own", .height = 1, .width = width, .channels = 64, .layers = {}};
  model.layers = {{.kind = conv1d, .name = "conv1", .out_channels = 128, .kernel = 3},
                  {.kind = relu, .name = "relu1"},
                  {.kind = maxpool1d, .name = "pool1", .kernel = window},
                  {.kind = conv1d, .name = "conv2", .out_channels = 64, .kernel = 5}};
  return classifying(std::move(model));
}

TEST_F(PooledLines, APoolingInThreesRunsInTheCallOfItsConvolution) {
  using enum Op;
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Program program = program_of(models::find_model("char_cnn"), purpose, precision);
      const auto nodes = cover(program, Selection{precision, {}}, gpu(90));
      expect_consistent(program, nodes);
      for (const std::string number : {"2", "6"}) {
        const NodeCover& forward = node_of(program, nodes, conv2d_forward, "conv" + number);
        EXPECT_EQ(describe(forward), "hopper_pooled, with bias, relu, maxpool2d");
        EXPECT_EQ(forward.shape.window_height, 1);
        EXPECT_EQ(forward.shape.window_width, 3);
        EXPECT_EQ(forward.reason, "");
      }
      for (const std::string layer : {"conv1", "conv3"}) {
        const NodeCover& other = node_of(program, nodes, conv2d_forward, layer);
        EXPECT_NE(other.variant->name, "hopper_pooled");
        EXPECT_EQ(other.reason, "") << "nobody expects it there";
      }
    }
  }
}

TEST_F(PooledLines, PlacesAreStoredAsTheContractSays) {
  using enum Op;
  const Program program = program_of(models::find_model("char_cnn_ln"), Purpose::training, Precision::fp16);
  const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& forward = node_of(program, nodes, conv2d_forward, "conv2");
  ASSERT_EQ(describe(forward), "hopper_pooled, with bias, relu, maxpool2d");
  const auto& pooling = program.nodes[index_of(program, maxpool2d_forward, "pool2")];
  EXPECT_EQ(tensor_of(forward.operands, Name::output), pooling.tensors[1]);
  EXPECT_EQ(tensor_of(forward.operands, Name::argmax), pooling.tensors[2]);
  for (const BoundOperand& each : forward.operands) EXPECT_EQ(each.operand.format, nullptr);
}

TEST_F(PooledLines, TheGradientOfThePoolingRunsInTheCallBehindIt) {
  using enum Op;
  const Program program = program_of(models::find_model("char_cnn_ln"), Purpose::training, Precision::fp16);
  const auto nodes = cover(program, Selection{Precision::fp16, {}}, gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& backward = node_of(program, nodes, conv2d_backward_input, "conv3");
  EXPECT_EQ(backward.variant->name, "hopper_unpooled");
  EXPECT_EQ(backward.shape.covered, (ops::OpSet{relu_backward, maxpool2d_backward}));
  EXPECT_EQ(backward.reason, "");
  const auto& unpooling = program.nodes[index_of(program, maxpool2d_backward, "pool2")];
  EXPECT_EQ(tensor_of(backward.operands, Name::argmax), unpooling.tensors[1]);
  EXPECT_EQ(tensor_of(backward.operands, Name::input_gradient), unpooling.tensors[2]);
  EXPECT_EQ(tensor_of(backward.operands, Name::input),
            program.nodes[index_of(program, conv2d_backward_input, "conv3") + 1].tensors[0]);
  EXPECT_EQ(backward.operands.size(), 5u);
  EXPECT_EQ(node_of(program, nodes, maxpool2d_backward, "pool2").variant, nullptr);

  const NodeCover& read = node_of(program, nodes, conv2d_backward_input, "conv2");
  EXPECT_EQ(describe(read), "hopper, with relu.backward");
  EXPECT_NE(read.reason.find("layer_norm.backward_weights in ln1 reads"), std::string::npos) << read.reason;
  EXPECT_EQ(node_of(program, nodes, layer_norm_backward_weights, "ln1").variant->name, "pooled");
}

TEST_F(PooledLines, AGradientWithPositionsOutsideWindowsRunsByItself) {
  for (const int width : {30, 31}) {
    const Program program = program_of(pooled_line(3, width), Purpose::training, Precision::tf32);
    const auto nodes = cover(program, Selection{Precision::tf32, {}}, gpu(90));
    expect_consistent(program, nodes);
    const NodeCover& backward = node_of(program, nodes, Op::conv2d_backward_input, "conv2");
    EXPECT_EQ(backward.variant->name, width == 30 ? "hopper_unpooled" : "hopper");
    EXPECT_EQ(backward.reason, "");
    EXPECT_EQ(node_of(program, nodes, Op::maxpool2d_backward, "pool1").variant == nullptr, width == 30);
  }
}

TEST_F(PooledLines, OtherWindowsAndDevicesRunAsBefore) {
  const auto described = [](int window, int capability) {
    const Program program = program_of(pooled_line(window), Purpose::training, Precision::bf16);
    const auto nodes = cover(program, Selection{Precision::bf16, {}}, gpu(capability));
    expect_consistent(program, nodes);
    const NodeCover& forward = node_of(program, nodes, Op::conv2d_forward, "conv1");
    EXPECT_EQ(forward.reason.find("hopper_pooled"), std::string::npos) << forward.reason;
    return describe(forward);
  };
  EXPECT_EQ(described(3, 90), "hopper_pooled, with bias, relu, maxpool2d");
  EXPECT_EQ(described(2, 90), "hopper, with bias, relu");
  EXPECT_EQ(described(3, 80), "narrow, with bias, relu");
}

TEST_F(PooledLines, AChosenPoolingRunsByItself) {
  const Program program = program_of(pooled_line(3), Purpose::training, Precision::fp16);
  Selection selection{Precision::fp16, {}};
  selection.variants[Op::maxpool2d_forward] = "naive";
  const auto nodes = cover(program, selection, gpu(90));
  expect_consistent(program, nodes);
  const NodeCover& forward = node_of(program, nodes, Op::conv2d_forward, "conv1");
  EXPECT_EQ(describe(forward), "hopper, with bias, relu");
  EXPECT_NE(forward.reason.find("maxpool2d.forward=naive was chosen and runs by itself"), std::string::npos)
      << forward.reason;
}

TEST_F(PooledLines, OnlyWindowsOfTheChainAreTaken) {
  ops::OpShape line{.batch = 2, .width = 30, .in_channels = 64, .out_channels = 64, .kernel_width = 3};
  ops::OpShape image{.batch = 2, .height = 8, .width = 8, .in_channels = 64, .out_channels = 64};
  image.kernel_height = image.kernel_width = 3;
  line.window_width = 3;
  const auto refusal = [](Op op, const char* name, ops::OpShape shape) {
    shape.covered = {op == Op::conv2d_forward ? Op::maxpool2d_forward : Op::maxpool2d_backward};
    return ops::find_variant(*ops::built_in_variants(), op, core::DeviceKind::cuda, name)->refuses(shape);
  };
  for (const Op op : {Op::conv2d_forward, Op::conv2d_backward_input}) {
    for (const char* name : {"fused", "narrow", "hopper"}) {
      EXPECT_EQ(refusal(op, name, line), "takes pooling in windows of 2x2") << name;
      EXPECT_EQ(refusal(op, name, image), "") << name;
    }
    const char* own = op == Op::conv2d_forward ? "hopper_pooled" : "hopper_unpooled";
    EXPECT_EQ(refusal(op, own, line), "");
    EXPECT_NE(refusal(op, own, image), "");
  }
}

TEST_F(PooledLines, OtherConvolutionsAreRefusedInASentence) {
  const ops::Variant& variant = *ops::find_variant(*ops::built_in_variants(), Op::conv2d_forward,
                                                   core::DeviceKind::cuda, "hopper_pooled");
  ops::OpShape shape{.width = 9, .in_channels = 64, .out_channels = 64, .kernel_width = 7, .valid = true};
  EXPECT_EQ(variant.refuses(shape), "");
  shape.covered = {Op::maxpool2d_forward};
  shape.window_width = 2;
  EXPECT_EQ(variant.refuses(shape), "takes pooling in windows of 3 positions of a row");
  shape.window_width = 3;
  EXPECT_EQ(variant.refuses(shape), "");
  const std::string lines =
      "takes convolutions of one dimension with 3, 5 or 7 taps, stride 1 and channels in multiples of 64 up "
      "to "
      "1024, of three positions at least";
  ops::OpShape other = shape;
  other.width = 8;  // two positions
  EXPECT_EQ(variant.refuses(other), lines);
  other = shape;
  other.in_channels = 70;
  EXPECT_EQ(variant.refuses(other), lines);
  other = shape;
  other.stride = 2;
  EXPECT_EQ(variant.refuses(other), lines);
  other = shape;
  other.height = 2;
  EXPECT_EQ(variant.refuses(other), lines);
}

}  // namespace
}  // namespace warpscope::plan::pooled_lines_test
