#include "gpu/messages/determinism.h"

#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/data/set_kinds.h"
#include "gpu/engine/compare_bits.h"
#include "gpu/plan/presets.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::determinism_test {
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
    weights |= tensor.op == ops::Op::optimizer_update;
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

class DeterminismOnTheGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = core::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

/// The report of the autoencoder's third step on the GPU with a preset.
DeterminismReport report_on_the_gpu(const char* preset, core::Precision precision) {
  const auto device = core::open_device("cuda:0");
  device->make_current();
  EngineOptions options;
  options.model = models::find_model("autoencoder");
  options.selection = plan::preset_selection(preset, device->info(), precision);
  options.batch = 32;
  options.test_images = 32;
  Engine engine(options, std::make_shared<data::DataSet>(data::make_builtin(96, 32)), device);
  tests::run_steps(engine, 2);
  const std::vector<float> before = engine.parameters();
  DeterminismReport report = engine.check_determinism();
  EXPECT_EQ(engine.parameters(), before);
  return report;
}

TEST_F(DeterminismOnTheGpu, ShowsWhereAtomicAdditionsDiffer) {
  const DeterminismReport report = report_on_the_gpu("atomic", core::Precision::fp32);
  std::int64_t forward = 0;
  std::int64_t weights = 0;
  for (const TensorDifference& tensor : report.tensors) {
    if (tensor.op == ops::Op::conv2d_forward) forward += tensor.different;
    if (tensor.op != ops::Op::conv2d_backward_weights) continue;
    weights += tensor.different;
    EXPECT_LE(tensor.different, tensor.elements);
    EXPECT_LT(tensor.largest_relative, 1e-3) << tensor.tensor;
  }
  EXPECT_EQ(forward, 0);
  EXPECT_GT(weights, 0);
}

TEST_F(DeterminismOnTheGpu, FindsAllBitsEqualWithoutAtomics) {
  for (const auto& [preset, precision] :
       {std::pair("atomic_free", core::Precision::fp32), std::pair("tensor_cores", core::Precision::fp16),
        std::pair("tensor_cores", core::Precision::bf16)}) {
    for (const TensorDifference& tensor : report_on_the_gpu(preset, precision).tensors) {
      EXPECT_EQ(tensor.different, 0) << preset << " " << core::to_string(precision) << " " << tensor.tensor;
    }
  }
}

/// Compares 100,003 numbers of 16 or 32 bits on the GPU, `changed` of which differ in their lowest bit.
template <class Bits>
BitDifferences compare_on_the_gpu(core::ElementType type, Bits value, std::int64_t changed) {
  constexpr std::int64_t kElements = 100003;
  const auto device = core::open_device("cuda:0");
  device->make_current();
  const auto stream = device->make_stream();
  const std::vector<Bits> first(kElements, value);
  std::vector<Bits> second = first;
  for (std::int64_t i = 0; i < changed; ++i) second[static_cast<std::size_t>(kElements - 1 - 7 * i)] ^= 1;
  const core::Buffer a(device, kElements * sizeof(Bits));
  const core::Buffer b(device, kElements * sizeof(Bits));
  const core::Buffer result(device, sizeof(BitDifferences));
  stream->copy(a.data(), first.data(), a.bytes());
  stream->copy(b.data(), second.data(), b.bytes());
  stream->fill(result.data(), 0, result.bytes());
  compare_bits(*device, *stream, type, kElements, a.data(), b.data(), result.as<BitDifferences>());
  BitDifferences found;
  stream->copy(&found, result.data(), sizeof(found));
  stream->synchronize();
  return found;
}

TEST_F(DeterminismOnTheGpu, CountsAndMeasuresDifferencesOfEveryType) {
  const auto check = [](const BitDifferences& found, std::uint64_t different, float largest) {
    EXPECT_EQ(found.different, different);
    EXPECT_EQ(found.largest, different > 0 ? largest : 0.0f);
    EXPECT_EQ(found.largest_value, 1.0f);
  };
  for (const std::int64_t changed : {0, 1, 12345}) {
    const auto count = static_cast<std::uint64_t>(changed);
    check(compare_on_the_gpu<std::uint32_t>(core::ElementType::f32, 0x3f800000, changed), count, 0x1p-23f);
    check(compare_on_the_gpu<std::uint16_t>(core::ElementType::f16, 0x3c00, changed), count, 0x1p-10f);
    check(compare_on_the_gpu<std::uint16_t>(core::ElementType::bf16, 0x3f80, changed), count, 0x1p-7f);
  }
}

}  // namespace
}  // namespace warpscope::training::determinism_test
