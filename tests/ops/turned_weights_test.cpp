// Which convolutions conv2d.backward_weights `hopper_general_turned` takes, and how much memory it turns them in.

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/variant.h"

namespace warpscope::ops::turned_weights_test {
namespace {

using core::Precision;

constexpr std::size_t kMega = std::size_t{1} << 20;

class TurnedWeights : public testing::Test {
 protected:
  void SetUp() override {
    turned = find_variant(*built_in_variants(), Op::conv2d_backward_weights, core::DeviceKind::cuda,
                          "hopper_general_turned");
    if (turned == nullptr) GTEST_SKIP() << "this build has no kernels for Hopper";
  }

  const Variant* turned = nullptr;
  OpShape shape{.batch = 256,
                .height = 16,
                .width = 16,
                .in_channels = 160,
                .out_channels = 160,
                .kernel_height = 7,
                .kernel_width = 7};
};

TEST_F(TurnedWeights, TakeLayersWithManyProductsOfEachElement) {
  EXPECT_EQ(precisions_of(*turned), std::vector{Precision::tf32});
  EXPECT_EQ(turned->refuses(shape), "");
  shape.stride = 2;
  EXPECT_EQ(turned->refuses(shape), "");
  shape.in_channels = shape.out_channels = 64;
  shape.kernel_height = shape.kernel_width = 3;
  shape.stride = 1;
  EXPECT_EQ(turned->refuses(shape), "") << "hopper has no kernel of its own for it in TF32";
  shape.kernel_height = shape.kernel_width = 1;
  EXPECT_EQ(turned->refuses(shape),
            "leaves layers of so few taps and channels to kernels that turn no operands");
}

TEST_F(TurnedWeights, RefuseWhatTheirCopiesDoNotTake) {
  shape.in_channels = 24;
  EXPECT_EQ(turned->refuses(shape), "takes at least 32 channels each way");
  shape.in_channels = 100;
  EXPECT_EQ(turned->refuses(shape), "takes channels in multiples of 8");
  shape.in_channels = 160;
  shape.stride = 3;
  EXPECT_EQ(turned->refuses(shape), "takes a stride of 1 or 2");
  shape.stride = 1;
  shape.batch = 4096;
  EXPECT_EQ(turned->refuses(shape), "takes layers whose operands, turned, fit in 1 GiB");
}

TEST_F(TurnedWeights, NeedRoomForBothOperandsAndThePartialSums) {
  const std::size_t operands = std::size_t{2} * 4 * 256 * 16 * 16 * 160;
  const std::size_t bytes = workspace_bytes(*turned, shape, Precision::tf32);
  EXPECT_GE(bytes, operands + std::size_t{4} * 49 * 160 * 160);
  EXPECT_LE(bytes, operands + 128 * kMega);
}

TEST_F(TurnedWeights, CutFewImagesInStripsRatherThanLeaveLanesEmpty) {
  shape.batch = 1;
  shape.height = shape.width = 64;
  shape.in_channels = shape.out_channels = 64;
  shape.kernel_height = shape.kernel_width = 3;
  const std::size_t operands = std::size_t{2} * 4 * 64 * 64 * 64;
  const std::size_t partial = std::size_t{132} * 4 * 64 * 64 * 16;  // nine taps, and units that are not full
  EXPECT_LE(workspace_bytes(*turned, shape, Precision::tf32), 2 * operands + partial)
      << "with 31 of 32 lanes empty it would be 32 times the operands";
}

}  // namespace
}  // namespace warpscope::ops::turned_weights_test
