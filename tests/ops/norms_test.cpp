// Layer and batch normalization: what every variant promises beyond agreement on random operands.

#include <cmath>
#include <ostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/ops/normalization.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/op_check.h"
#include "tests/ops/print_variant.h"

namespace warpscope::verify::norms_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Variant;
using Values = std::vector<double>;

class Norm : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (GetParam().device == core::DeviceKind::cpu) {
      device_ = core::open_device("cpu");
      return;
    }
    const std::string reason = core::cuda_unavailable_reason();
    if (!reason.empty()) GTEST_SKIP() << "no CUDA device: " << reason;
    device_ = core::open_device("cuda");
  }

  /// What the variant makes of `before`, in FP32.
  Operands run(const OpShape& shape, const Operands& before) {
    OpRun op_run(GetParam(), device_, shape, Precision::fp32);
    Operands after = op_run.run(before);
    EXPECT_EQ(op_run.fault(), "");
    return after;
  }

  std::shared_ptr<core::Device> device_;
};

Values values_of(const Operands& operands, Name name) {
  return decode(operands[name], core::ElementType::f32);
}
Values doubles_of(const Operands& operands, Name name) {
  return decode(operands[name], core::ElementType::f64);
}

Values normal_values(std::size_t count, double mean, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, 1.0);
  Values values(count);
  for (double& value : values) value = normal(random);
  return values;
}

Bytes floats(const Values& values) {
  return encode(values, core::ElementType::f32);
}

/// Operands of a forward op whose input has that mean, and deviations of 1.
Operands forward_operands(const OpShape& shape, double mean) {
  const auto channels = static_cast<std::size_t>(shape.in_channels);
  const auto elements = static_cast<std::size_t>(shape.batch * shape.height * shape.width) * channels;
  return {{Name::input, floats(normal_values(elements, mean, 1))},
          {Name::weights, floats(normal_values(channels, 1, 2))},
          {Name::bias, floats(normal_values(channels, 0, 3))}};
}

std::string test_name(const testing::TestParamInfo<Variant>& tested) {
  std::string name(to_string(tested.param.op));
  for (char& c : name) c = c == '.' ? '_' : c;
  return name + "_" + std::string(to_string(tested.param.device)) + "_" + tested.param.name;
}

/// Those that compute one of the ops by itself and keep the tolerance far off 0 and of equal values, too.
std::vector<Variant> variants_of_ops(const ops::OpSet& set) {
  std::vector<Variant> selected;
  for (const Variant& variant : *ops::built_in_variants()) {
    const bool alone = ops::coverings(variant).front().empty();
    if (set.has(variant.op) && alone && variant.far_means) selected.push_back(variant);
  }
  return selected;
}

using NormForward = Norm;

TEST_P(NormForward, KeepsItsDigitsWhereTheMeanIsManyTimesTheDeviation) {
  for (const double mean : {1000.0, -30000.0}) {
    const OpShape shape{.batch = 5, .height = 11, .width = 9, .in_channels = 130};
    const Operands before = forward_operands(shape, mean);
    const Operands after = run(shape, before);
    const Operands expected =
        run_reference(GetParam().op, shape, convert(GetParam().op, before, Precision::fp32, Precision::fp64));
    const double tolerance = ops::tolerance(Precision::fp32, terms_of(GetParam(), shape));
    const double error = relative_error(values_of(after, Name::output), doubles_of(expected, Name::output));
    EXPECT_LT(error, tolerance) << "mean " << mean;
    // What is stored as a mean is rounded to FP32; the deviations are not the worse for it.
    const Values statistics = values_of(after, Name::statistics);
    const Values right = doubles_of(expected, Name::statistics);
    const auto half = static_cast<std::ptrdiff_t>(right.size() / 2);
    EXPECT_LT(
        relative_error({statistics.begin() + half, statistics.end()}, {right.begin() + half, right.end()}),
        tolerance);
    for (std::size_t i = 0; i < right.size() / 2; ++i) {
      ASSERT_NEAR(statistics[i], right[i], std::abs(mean) * 1e-7) << i;
    }
  }
}

TEST_P(NormForward, MakesBetaOfEqualValues) {
  const OpShape shape{.batch = 3, .height = 7, .width = 5, .in_channels = 37};
  for (const double value : {0.0, 0.1, -12345.678}) {
    Operands before = forward_operands(shape, 0);
    const std::size_t elements = before[Name::input].size() / sizeof(float);
    before[Name::input] = floats(Values(elements, value));
    const Operands after = run(shape, before);
    const Values beta = values_of(before, Name::bias);
    const Values output = values_of(after, Name::output);
    for (std::size_t i = 0; i < elements; ++i) {
      ASSERT_NEAR(output[i], beta[i % beta.size()], 1e-6) << value << ", element " << i;
    }
    const Values statistics = values_of(after, Name::statistics);
    for (std::size_t i = statistics.size() / 2; i < statistics.size(); ++i) {
      ASSERT_NEAR(statistics[i], 1 / std::sqrt(1e-5), 1e-3) << i;
    }
  }
}

TEST_P(NormForward, IsNotMovedByAValueThatStandsOut) {
  // The first value of each channel and position, which a variant may take differences from.
  const OpShape shape{.batch = 6, .height = 9, .width = 7, .in_channels = 48};
  Operands before = forward_operands(shape, 0);
  Values input = values_of(before, Name::input);
  for (std::size_t c = 0; c < 48; ++c) input[c] = 4096;
  before[Name::input] = floats(input);
  const Operands after = run(shape, before);
  const Operands expected =
      run_reference(GetParam().op, shape, convert(GetParam().op, before, Precision::fp32, Precision::fp64));
  const double error = relative_error(values_of(after, Name::output), doubles_of(expected, Name::output));
  EXPECT_LT(error, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Variants, NormForward,
                         testing::ValuesIn(variants_of_ops({Op::layer_norm_forward, Op::batch_norm_forward})),
                         test_name);

using NormBackward = Norm;

TEST_P(NormBackward, IsThatOfTheReferenceWithTheStatisticsOfForward) {
  const bool layer = GetParam().op == Op::layer_norm_backward_input;
  const Op forward = layer ? Op::layer_norm_forward : Op::batch_norm_forward;
  for (const int channels : {5, 24, 77}) {
    const OpShape shape{.batch = 4, .height = 5, .width = 3, .in_channels = channels};
    Operands before = forward_operands(shape, 20);
    const auto elements = before[Name::input].size() / sizeof(float);
    before[Name::output_gradient] = floats(normal_values(elements, 0, 4));
    const Operands moments =
        run_reference(forward, shape, convert(forward, before, Precision::fp32, Precision::fp64));
    before[Name::statistics] = floats(doubles_of(moments, Name::statistics));
    before[Name::bias] = {};
    const Operands after = run(shape, before);
    const Operands expected =
        run_reference(GetParam().op, shape, convert(GetParam().op, before, Precision::fp32, Precision::fp64));
    const double error =
        relative_error(values_of(after, Name::input_gradient), doubles_of(expected, Name::input_gradient));
    EXPECT_LT(error, 2e-6) << channels << " channels";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Variants, NormBackward,
    testing::ValuesIn(variants_of_ops({Op::layer_norm_backward_input, Op::batch_norm_backward})), test_name);

TEST(NormVariance, ComesBackFromItsReciprocalDeviation) {
  for (const double variance : {0.0, 1e-3, 1.0, 400.0, 1e12}) {
    EXPECT_NEAR(ops::variance_of(ops::reciprocal_deviation(variance)), variance, 1e-12 + 1e-14 * variance);
    const auto single = static_cast<float>(variance);
    EXPECT_NEAR(ops::variance_of(ops::reciprocal_deviation(single)), single, 1e-11F + 1e-6F * single);
  }
  EXPECT_EQ(ops::reciprocal_deviation(-1e-9), ops::reciprocal_deviation(0.0));
  EXPECT_TRUE(std::isnan(ops::reciprocal_deviation(std::nan(""))));
  EXPECT_TRUE(std::isnan(ops::variance_of(std::nan(""))));
}

}  // namespace
}  // namespace warpscope::verify::norms_test
