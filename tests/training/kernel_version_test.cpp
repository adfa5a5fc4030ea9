// What is told of a version of a user's kernel: the calls that it is timed on, chains of ops among them.

#include "gpu/training/kernel_version.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/user_kernels/task.h"

namespace warpscope::training::kernel_version_test {
namespace {

using ops::Op;

/// A 3x3 convolution of 8 channels to as many, on two images of size x size.
ops::OpShape convolution(int size) {
  ops::OpShape shape;
  shape.batch = 2;
  shape.height = shape.width = size;
  shape.in_channels = shape.out_channels = 8;
  shape.kernel_height = shape.kernel_width = 3;
  return shape;
}

/// conv1 and conv2 with bias and relu, conv3 with a bias only.
std::vector<KernelCall> step() {
  std::vector<KernelCall> calls;
  for (const auto& [layer, size] : {std::pair("conv1", 4), std::pair("conv2", 8), std::pair("conv3", 16)}) {
    calls.push_back({Op::conv2d_forward, layer, convolution(size)});
    calls.push_back({Op::bias_forward, layer, convolution(size)});
    if (size < 16) calls.push_back({Op::relu_forward, std::string("relu of ") + layer, convolution(size)});
  }
  return calls;
}

TEST(KernelShapes, OfAnOpAreThoseOfAllItsCallsTheMostExpensiveFirst) {
  std::vector<KernelCall> calls = step();
  calls[0].shape.covered.add(Op::bias_forward);  // as the plan in use has it
  calls.push_back({Op::conv2d_forward, "conv4", convolution(8)});
  const std::vector<KernelShapeTimes> shapes = shapes_of(Op::conv2d_forward, calls);
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].layers, std::vector<std::string>{"conv3"});
  EXPECT_EQ(shapes[1].layers, (std::vector<std::string>{"conv2", "conv4"}));
  EXPECT_EQ(shapes[2].layers, std::vector<std::string>{"conv1"});
  EXPECT_TRUE(shapes[2].shape.covered.empty());
  EXPECT_EQ(shapes[2].flops, 2.0 * 2 * 4 * 4 * 8 * 8 * 3 * 3);
  EXPECT_EQ(shapes[2].bytes, 4.0 * (2 * 2 * 4 * 4 * 8 + 8 * 8 * 3 * 3));
  EXPECT_GT(shapes[2].least_flops, 0);
  EXPECT_LE(shapes[2].least_flops, shapes[2].flops);
}

TEST(KernelShapes, OfAChainAreThoseWhereItsOpsFollowOneAnother) {
  const user_kernels::Task chain = user_kernels::task_of("conv2d.forward+bias.forward+relu.forward");
  const std::vector<KernelShapeTimes> shapes = shapes_of(chain, step());
  ASSERT_EQ(shapes.size(), 2u) << "no relu behind conv3";
  EXPECT_EQ(shapes[0].layers, std::vector<std::string>{"conv2"});
  const KernelShapeTimes& conv1 = shapes[1];
  EXPECT_EQ(conv1.layers, std::vector<std::string>{"conv1"});
  EXPECT_EQ(conv1.shape, chain.call_of(convolution(4)));
  EXPECT_EQ(conv1.flops, 2.0 * 2 * 4 * 4 * 8 * 8 * 3 * 3) << "the products; bias and relu are no such work";
  EXPECT_EQ(conv1.bytes, 4.0 * (2 * 2 * 4 * 4 * 8 + 8 * 8 * 3 * 3 + 8))
      << "what passes between them is not stored";
  EXPECT_TRUE(shapes_of(chain, {{Op::conv2d_forward, "last", convolution(4)}}).empty());
  EXPECT_TRUE(shapes_of(chain, {}).empty());
}

}  // namespace
}  // namespace warpscope::training::kernel_version_test
