// Every variant of every op against the double-precision reference.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/op_tests.h"
#include "gpu/verify/op_check.h"
#include "gpu/verify/op_shapes.h"
#include "tests/ops/print_variant.h"

namespace warpscope::verify::variants_test {
namespace {

using core::DeviceKind;
using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Variant;

// AddressSanitizer looks for reads and writes out of bounds, which small shapes have as well, and takes ten times as
// long.
#ifdef WARPSCOPE_SANITIZES_ADDRESS
constexpr double kMostFlops = 2e6;
constexpr double kMostFlopsChosen = kMostFlops;
// Shapes of chains that are larger are for GPUs, with more tiles than those have multiprocessors.
constexpr double kMostFlopsOnCpu = 1e7;
#else
constexpr double kMostFlops = 2e7;  // of a random shape: `warpscope verify` takes larger ones
constexpr double kMostFlopsChosen = std::numeric_limits<double>::infinity();
constexpr double kMostFlopsOnCpu = std::numeric_limits<double>::infinity();
#endif

/// The first device of a kind, opened once; nullptr if this machine has none.
std::shared_ptr<core::Device> device_of(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return core::open_device("cpu");
  static const std::shared_ptr<core::Device> cuda =
      core::cuda_unavailable_reason().empty() ? core::open_device("cuda") : nullptr;
  return cuda;
}

std::string test_name(const testing::TestParamInfo<Variant>& tested) {
  std::string name(to_string(tested.param.op));
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + std::string(to_string(tested.param.device)) + "_" + tested.param.name;
}

class OpVariant : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    device_ = device_of(GetParam().device);
    if (device_ == nullptr) GTEST_SKIP() << "no CUDA device: " << core::cuda_unavailable_reason();
    const Precision first = ops::precisions_of(GetParam()).front();
    const std::string why = unavailable_reason(GetParam(), device_->info(), first);
    if (!why.empty()) GTEST_SKIP() << why;
  }
  std::shared_ptr<core::Device> device_;
};

TEST_P(OpVariant, AgreesWithTheReference) {
  const Variant& variant = GetParam();
  int checked = 0;
  for (const Precision precision : ops::precisions_of(variant)) {
    if (precision == Precision::fp64) continue;  // the reference in fp64 is what all is compared with
    double worst = 0;
    std::uint64_t seed = 1;
    std::vector<OpShape> shapes = shapes_of(variant.op);
    std::erase_if(shapes, [&](const OpShape& shape) {
      return ops::contract(variant.op).flops(shape) > kMostFlopsChosen;
    });
    const std::vector<OpShape> random = random_shapes_of(variant.op, 4, 20240917, kMostFlops);
    shapes.insert(shapes.end(), random.begin(), random.end());
    const bool cuda = device_->kind() == core::DeviceKind::cuda;
    const auto large = cuda ? large_shapes_of(variant.op) : std::vector<OpShape>();
    for (const OpShape& shape : calls_of(variant, shapes, large)) {
      if (!cuda && ops::contract(variant.op).flops(shape) > kMostFlopsOnCpu) continue;
      if (!unavailable_reason(variant, device_->info(), precision, &shape).empty()) continue;
      const Check check = check_call(variant, device_, shape, precision, seed++);
      EXPECT_EQ(check.failure, "");
      worst = std::max(worst, check.worst_error / check.tolerance);
      ++checked;
    }
    RecordProperty("worst_error_over_tolerance_" + std::string(to_string(precision)), std::to_string(worst));
  }
  EXPECT_GT(checked, 0) << "the variant refuses every shape";
}

INSTANTIATE_TEST_SUITE_P(Variants, OpVariant,
                         testing::ValuesIn(ops::built_in_variants()->begin(),
                                           ops::built_in_variants()->end()),
                         test_name);

/// Ops that give some of their inputs as they are.
constexpr ops::OpSet kSelecting{Op::relu_forward, Op::maxpool2d_forward};
std::vector<Variant> open_variants() {
  std::vector<Variant> found;
  for (const Variant& variant : *ops::built_in_variants()) {
    if (ops::tests_of(variant.op).lets_nan_through) found.push_back(variant);
  }
  return found;
}

using OpenVariant = OpVariant;

/// One of the shapes of the op's proofs that has some images and channels.
OpShape shape_of(Op op) {
  const std::vector<OpShape> shapes = ops::tests_of(op).shapes();
  return *std::max_element(shapes.begin(), shapes.end(), [](const OpShape& a, const OpShape& b) {
    const auto size = [](const OpShape& s) {
      return s.height * s.width > 16 * 16 ? 0 : s.batch * s.in_channels;
    };
    return size(a) < size(b);
  });
}

TEST_P(OpenVariant, LetsNanThrough) {
  const Variant& variant = GetParam();
  const OpShape shape = shape_of(variant.op);
  for (const Precision precision : ops::precisions_of(variant)) {
    Operands before = random_operands(variant.op, shape, precision, 7);
    auto values = operand_values(variant.op, before, Name::input, precision);
    for (std::size_t i = 0; i < values.size(); i += 5) values[i] = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 3; i < values.size(); i += 11) values[i] = std::numeric_limits<double>::infinity();
    for (std::size_t i = 4; i < values.size(); i += 11) values[i] = -std::numeric_limits<double>::infinity();
    before[Name::input] = encode(values, element_type(ops::Role::activation, precision));
    const Operands expected =
        run_reference(variant.op, shape, convert(variant.op, before, precision, Precision::fp64));

    OpRun op_run(variant, device_, shape, precision);
    const Operands after = op_run.run(before);
    ASSERT_EQ(op_run.fault(), "");
    const auto out = operand_values(variant.op, after, Name::output, precision);
    const auto right = operand_values(variant.op, expected, Name::output, Precision::fp64);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::isnan(out[i]), std::isnan(right[i])) << to_string(precision) << ", element " << i;
      if (std::isnan(out[i])) continue;
      if (kSelecting.has(variant.op) || std::isinf(right[i])) {
        ASSERT_EQ(out[i], right[i]) << to_string(precision) << ", element " << i;
      } else {
        const double allowed = ops::tolerance(precision, shape.height * shape.width) * 4;
        ASSERT_NEAR(out[i], right[i], allowed) << to_string(precision) << ", element " << i;
      }
    }
    if (variant.op == Op::maxpool2d_forward) {
      EXPECT_EQ(after[Name::argmax], expected[Name::argmax]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, OpenVariant, testing::ValuesIn(open_variants()), test_name);

/// Ops whose rows do not say it: where a NaN reaches many outputs, or the input is symbols.
constexpr ops::OpSet kNotOpen{Op::images_widen,       Op::one_hot_forward,    Op::embedding_forward,
                              Op::conv2d_forward,     Op::linear_forward,     Op::bias_forward,
                              Op::upsample2d_forward, Op::layer_norm_forward, Op::batch_norm_forward,
                              Op::batch_norm_infer};

TEST(OpTests, SayOfEachOpThatMakesAnOutputOfAnInputWhetherANanShows) {
  for (const ops::OpContract& contract : ops::contracts()) {
    const auto has = [&](Name name, ops::Access access) {
      return std::any_of(
          contract.operands.begin(), contract.operands.end(),
          [&](const ops::Operand& operand) { return operand.name == name && operand.access == access; });
    };
    if (!has(Name::input, ops::Access::read) || !has(Name::output, ops::Access::write)) continue;
    EXPECT_NE(ops::tests_of(contract.op).lets_nan_through, kNotOpen.has(contract.op)) << contract.name;
  }
}

/// The variants of the ops in which a NaN makes NaN of all that shares its mean, and nothing else. They compute the op
/// by itself.
std::vector<Variant> normalizing_variants() {
  constexpr ops::OpSet kOps{Op::layer_norm_forward, Op::batch_norm_forward, Op::batch_norm_infer};
  std::vector<Variant> selected;
  for (const Variant& variant : *ops::built_in_variants()) {
    if (kOps.has(variant.op) && ops::coverings(variant).front().empty()) selected.push_back(variant);
  }
  return selected;
}

using NormalizingVariant = OpVariant;

TEST_P(NormalizingVariant, LetsNanThrough) {
  const Variant& variant = GetParam();
  const OpShape shape{.batch = 2, .height = 6, .width = 4, .in_channels = 19};
  const std::size_t channels = 19;
  for (const Precision precision : ops::precisions_of(variant)) {
    Operands before = random_operands(variant, shape, precision, 7);
    auto values = operand_values(variant.op, before, Name::input, precision);
    values[0 * channels + 3] = std::numeric_limits<double>::quiet_NaN();
    values[30 * channels + 7] = std::numeric_limits<double>::quiet_NaN();
    values[41 * channels + 18] = std::numeric_limits<double>::infinity();
    before[Name::input] = encode(values, element_type(ops::Role::activation, precision));
    const Operands expected =
        run_reference(variant.op, shape, convert(variant.op, before, precision, Precision::fp64));

    OpRun op_run(variant, device_, shape, precision);
    const Operands after = op_run.run(before);
    ASSERT_EQ(op_run.fault(), "");
    const auto out = operand_values(variant.op, after, Name::output, precision);
    const auto right = operand_values(variant.op, expected, Name::output, Precision::fp64);
    std::vector<double> finite;
    std::vector<double> right_finite;
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::isnan(out[i]), std::isnan(right[i])) << to_string(precision) << ", element " << i;
      ASSERT_EQ(std::isinf(out[i]), std::isinf(right[i])) << to_string(precision) << ", element " << i;
      if (!std::isfinite(out[i])) continue;
      finite.push_back(out[i]);
      right_finite.push_back(right[i]);
    }
    EXPECT_LT(finite.size(), out.size());
    EXPECT_GT(finite.size(), out.size() / 2);
    EXPECT_LE(relative_error(finite, right_finite), ops::tolerance(precision, terms_of(variant, shape)));
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, NormalizingVariant, testing::ValuesIn(normalizing_variants()), test_name);

}  // namespace
}  // namespace warpscope::verify::variants_test
