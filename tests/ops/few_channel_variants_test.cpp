// Which convolutions variants for few channels take, and leave to others that are faster.

#include <utility>

#include <gtest/gtest.h>

#include "gpu/ops/variant.h"

namespace warpscope::ops::few_channel_variants_test {
namespace {

const Variant* conv2d(Op op, const char* name) {
  return find_variant(*built_in_variants(), op, core::DeviceKind::cuda, name);
}

OpShape layer(int in_channels, int out_channels, int kernel, int stride = 1) {
  return {.batch = 256,
          .height = 16,
          .width = 16,
          .in_channels = in_channels,
          .out_channels = out_channels,
          .kernel_height = kernel,
          .kernel_width = kernel,
          .stride = stride};
}

TEST(FewChannelVariants, PatchesTakeUpTo1600PairsOfChannels) {
  for (const Op op : {Op::conv2d_forward, Op::conv2d_backward_input, Op::conv2d_backward_weights}) {
    const Variant* patches = conv2d(op, "patches");
    if (patches == nullptr) GTEST_SKIP() << "this build has no kernels for GPUs";
    EXPECT_EQ(patches->refuses(layer(40, 40, 3)), "");
    EXPECT_EQ(patches->refuses(layer(8, 64, 3)), "");
    const char* const channels =
        "takes channels in multiples of 8, at most 64, and 1,600 pairs of input and output channels";
    EXPECT_EQ(patches->refuses(layer(48, 48, 3)), channels);
    EXPECT_EQ(patches->refuses(layer(8, 72, 3)), channels);
    EXPECT_EQ(patches->refuses(layer(12, 8, 3)), channels);
    EXPECT_EQ(patches->refuses(layer(24, 24, 3, 2)), "takes a stride of 1");
    EXPECT_EQ(patches->refuses(layer(24, 24, 1)), "takes kernels of more than one tap");
    EXPECT_EQ(patches->refuses(layer(40, 40, 5)), "takes at most 30,720 weights");
    OpShape apart = layer(8, 8, 3);
    apart.dilation = 8000;
    EXPECT_EQ(patches->refuses(apart), "takes kernels that reach over at most 4,096 pixels");
  }
}

TEST(FewChannelVariants, GradientsOfTheInputOfUpToThreeOutputChannels) {
  const Variant* input = conv2d(Op::conv2d_backward_input, "few_channels");
  if (input == nullptr) GTEST_SKIP() << "this build has no kernels for GPUs";
  EXPECT_EQ(input->refuses(layer(64, 3, 3)), "");
  EXPECT_EQ(input->refuses(layer(8, 1, 9)), "");
  const char* const channels = "takes at most three output channels, and input channels in multiples of 8";
  EXPECT_EQ(input->refuses(layer(64, 4, 3)), channels);
  EXPECT_EQ(input->refuses(layer(12, 3, 3)), channels);
  EXPECT_EQ(input->refuses(layer(64, 3, 3, 2)), "takes a stride of 1");
  EXPECT_EQ(input->refuses(layer(64, 3, 15)),
            "takes kernels that fit 48 KB of shared memory together with the pixels they read");
}

TEST(FewChannelVariants, PipelinedLeavesWhatFillsTheTilesOfFused) {
  const Variant* forward = conv2d(Op::conv2d_forward, "pipelined");
  const Variant* weights = conv2d(Op::conv2d_backward_weights, "pipelined");
  if (forward == nullptr) GTEST_SKIP() << "this build has no kernels for GPUs";
  EXPECT_EQ(forward->refuses(layer(24, 48, 3)), "");
  EXPECT_EQ(forward->refuses(layer(64, 64, 3, 2)), "");
  EXPECT_EQ(forward->refuses(layer(64, 128, 3)),
            "leaves plain convolutions of channels in multiples of 64 to fused");
  EXPECT_EQ(forward->refuses(layer(8, 8, 3, 5)), "takes a stride of at most 4");
  EXPECT_EQ(forward->refuses(layer(24, 48, 1)), "");
  EXPECT_EQ(weights->refuses(layer(24, 48, 1)), "leaves plain convolutions of one tap to fused");
  EXPECT_EQ(weights->refuses(layer(24, 48, 3)), "");
}

TEST(FewChannelVariants, PipelinedTakesAnyChannelsWhereFusedTakesNone) {
  for (const Op op : {Op::conv2d_forward, Op::conv2d_backward_input, Op::conv2d_backward_weights}) {
    const Variant* pipelined = conv2d(op, "pipelined");
    const Variant* fused = conv2d(op, "fused");
    if (pipelined == nullptr) GTEST_SKIP() << "this build has no kernels for GPUs";
    for (const auto& [in, out] : {std::pair{3, 64}, std::pair{1, 5}, std::pair{24, 3}, std::pair{30, 50}}) {
      OpShape apart = layer(in, out, 3);
      apart.dilation = 2;
      OpShape valid = layer(in, out, 5);
      valid.valid = true;
      for (const OpShape& shape : {apart, valid, layer(in, out, 3, 2), layer(in, out, 1, 4)}) {
        EXPECT_EQ(pipelined->refuses(shape), "") << in << " to " << out;
        EXPECT_NE(fused->refuses(shape), "") << in << " to " << out;
      }
      for (const int kernel : {1, 3, 7}) {
        EXPECT_EQ(pipelined->refuses(layer(in, out, kernel)),
                  "leaves plain convolutions of other channels than multiples of 4 to fused");
        EXPECT_EQ(fused->refuses(layer(in, out, kernel)), "");
      }
    }
  }
}

}  // namespace
}  // namespace warpscope::ops::few_channel_variants_test
