#include "gpu/training/determinism.h"

#include <array>
#include <bit>
#include <limits>

#include <gtest/gtest.h>

#include "gpu/training/compare_bits.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training {
namespace {

std::shared_ptr<const data::DataSet> tiny_data() {
  return std::make_shared<data::DataSet>(tests::tiny_data());
}

TEST(Determinism, LoopsGiveTheSameBitsTwiceAndLeaveTheTrainingAlone) {
  Engine engine(tests::tiny_engine_options(), tiny_data(), core::open_device("cpu"));
  Engine untouched(tests::tiny_engine_options(), tiny_data(), core::open_device("cpu"));
  tests::run_steps(engine, 2);
  tests::run_steps(untouched, 2);
  const std::vector<float> before = engine.parameters();
  const DeterminismReport report = engine.check_determinism();
  EXPECT_EQ(engine.parameters(), before);
  EXPECT_EQ(report.step, 2u);
  EXPECT_GT(report.tensors.size(), 20u);
  bool gradients = false;
  bool weights = false;
  for (const TensorDifference& tensor : report.tensors) {
    EXPECT_EQ(tensor.different, 0) << tensor.tensor;
    EXPECT_GT(tensor.elements, 0) << tensor.tensor;
    gradients |= tensor.op == ops::Op::conv2d_backward_weights;
    weights |= tensor.op == ops::Op::sgd_update;
  }
  EXPECT_TRUE(gradients && weights);
  EXPECT_EQ(tests::losses(tests::run_steps(engine, 3)), tests::losses(tests::run_steps(untouched, 3)));
}

class CompareBits : public testing::Test {
 protected:
  template <class T, std::size_t N>
  BitDifferences compare(core::ElementType type, const std::array<T, N>& a, const std::array<T, N>& b) {
    BitDifferences result;
    compare_bits(*device, *stream, type, N, a.data(), b.data(), &result);
    return result;
  }
  std::shared_ptr<core::Device> device = core::open_device("cpu");
  std::unique_ptr<core::Stream> stream = device->make_stream();
};

TEST_F(CompareBits, CountsAndMeasuresDifferences) {
  const std::array<float, 4> a{1.0f, -8.0f, 3.0f, 0.0f};
  const std::array<float, 4> b{1.0f, -7.5f, 3.25f, -0.0f};
  const BitDifferences found = compare(core::ElementType::f32, a, b);
  EXPECT_EQ(found.different, 3u) << "minus zero has other bits";
  EXPECT_EQ(found.largest, 0.5f);
  EXPECT_EQ(found.largest_value, 8.0f);
}

TEST_F(CompareBits, TakesNanForWhatItsBitsAre) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const BitDifferences same = compare(core::ElementType::f32, std::array{nan}, std::array{nan});
  EXPECT_EQ(same.different, 0u);
  const BitDifferences other = compare(core::ElementType::f32, std::array{nan, 2.0f}, std::array{1.0f, 2.0f});
  EXPECT_EQ(other.different, 1u);
  EXPECT_EQ(other.largest, 0.0f);
}

TEST_F(CompareBits, ReadsBfloat16) {
  const auto bits = [](float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  };
  const BitDifferences found = compare(core::ElementType::bf16, std::array{bits(4.0f), bits(1.0f)},
                                       std::array{bits(3.5f), bits(1.0f)});
  EXPECT_EQ(found.different, 1u);
  EXPECT_EQ(found.largest, 0.5f);
}

}  // namespace
}  // namespace warpscope::training
