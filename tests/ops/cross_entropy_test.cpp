// Cross-entropy: the reference against results worked out by hand, and what every variant promises beyond
// agreement.

#include "gpu/ops/cross_entropy/cross_entropy.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/device.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/op_check.h"
#include "gpu/verify/op_shapes.h"
#include "tests/ops/print_variant.h"

namespace warpscope::verify::cross_entropy_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Variant;
using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Bytes numbers(const Values& values) {
  return encode(values, core::ElementType::f64);
}
Bytes codes(const Values& values) {
  return encode(values, core::ElementType::u8);
}
Bytes control_of(const ops::step::StepControl& control) {
  Bytes bytes(sizeof(control));
  std::memcpy(bytes.data(), &control, sizeof(control));
  return bytes;
}
Values values_of(Op op, const Operands& after, Name name) {
  return operand_values(op, after, name, Precision::fp64);
}

TEST(CrossEntropyReference, TakesTheLogarithmOfTheLabelsShare) {
  // Logits 0 and log 3: softmax (1/4, 3/4).
  const OpShape shape{.batch = 3, .in_channels = 2};
  const double log3 = std::log(3.0);
  const Operands after =
      run_reference(Op::cross_entropy_forward, shape,
                    {{Name::logits, numbers({0, log3, 0, log3, 5, 5})}, {Name::labels, codes({0, 1, 1})}});
  const Values losses = values_of(Op::cross_entropy_forward, after, Name::sample_losses);
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_NEAR(losses[0], std::log(4.0), 1e-15);        // -log 1/4
  EXPECT_NEAR(losses[1], std::log(4.0 / 3.0), 1e-15);  // -log 3/4
  EXPECT_NEAR(losses[2], std::log(2.0), 1e-15);
  EXPECT_EQ(after[Name::predicted], codes({1, 1, 0}));  // a tie goes to the first
  EXPECT_NEAR(values_of(Op::cross_entropy_forward, after, Name::loss)[0], std::log(4.0 * 4.0 / 3.0 * 2.0) / 3,
              1e-15);
  EXPECT_EQ(values_of(Op::cross_entropy_forward, after, Name::accuracy)[0], 1.0 / 3);
}

TEST(CrossEntropyReference, GradientIsSoftmaxLessOneHotTimesTheLossScale) {
  const OpShape shape{.batch = 2, .in_channels = 3};
  const double log2 = std::log(2.0);
  const Operands after = run_reference(Op::cross_entropy_backward, shape,
                                       {{Name::logits, numbers({0, log2, 0, 7, 7, 7 + log2})},
                                        {Name::labels, codes({1, 0})},
                                        {Name::control, control_of({.loss_scale = 8})}});
  const Values gradient = values_of(Op::cross_entropy_backward, after, Name::gradient);
  // softmax (1/4, 1/2, 1/4) twice, the second turned: times 8 over 2 images
  const Values expected{1, -2, 1, -3, 1, 2};
  ASSERT_EQ(gradient.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-14) << i;
}

TEST(CrossEntropyReference, IsExactWhereSubtractionsWouldCancel) {
  const OpShape shape{.batch = 1, .in_channels = 2};
  const Bytes logits = numbers({1030, 1000});
  const Bytes labels = codes({0});
  const Operands forward =
      run_reference(Op::cross_entropy_forward, shape, {{Name::logits, logits}, {Name::labels, labels}});
  const double loss = values_of(Op::cross_entropy_forward, forward, Name::loss)[0];
  EXPECT_NEAR(loss / std::exp(-30.0), 1, 1e-12);
  const Operands backward =
      run_reference(Op::cross_entropy_backward, shape,
                    {{Name::logits, logits}, {Name::labels, labels}, {Name::control, control_of({})}});
  const Values gradient = values_of(Op::cross_entropy_backward, backward, Name::gradient);
  EXPECT_NEAR(gradient[0] / -std::exp(-30.0), 1, 1e-12);
  EXPECT_EQ(gradient[1], -gradient[0]);
}

TEST(CrossEntropyReference, OneClassIsAlwaysRight) {
  const OpShape shape{.batch = 2, .in_channels = 1};
  const Operands after = run_reference(Op::cross_entropy_forward, shape,
                                       {{Name::logits, numbers({-3, 80})}, {Name::labels, codes({0, 0})}});
  EXPECT_EQ(values_of(Op::cross_entropy_forward, after, Name::loss)[0], 0.0);
  EXPECT_EQ(values_of(Op::cross_entropy_forward, after, Name::accuracy)[0], 1.0);
}

TEST(LabelsReference, WalksTheOrderAroundItsEnd) {
  const OpShape shape{.batch = 5, .count = 3};
  const std::vector<std::uint32_t> order{2, 0, 1};
  Bytes order_bytes(order.size() * sizeof(order[0]));
  std::memcpy(order_bytes.data(), order.data(), order_bytes.size());
  const Operands after = run_reference(Op::labels_gather, shape,
                                       {{Name::all_labels, codes({10, 11, 255})},
                                        {Name::order, order_bytes},
                                        {Name::control, control_of({.position = 1})}});
  EXPECT_EQ(after[Name::labels], codes({10, 11, 255, 10, 11}));
}

std::string test_name(const testing::TestParamInfo<Variant>& tested) {
  return std::string(to_string(tested.param.device)) + "_" + tested.param.name;
}

std::vector<Variant> forward_variants() {
  std::vector<Variant> list;
  for (const Variant& variant : *ops::built_in_variants()) {
    if (variant.op == Op::cross_entropy_forward) list.push_back(variant);
  }
  return list;
}

class CrossEntropyVariant : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    const bool cuda = GetParam().device == core::DeviceKind::cuda;
    if (cuda && !core::cuda_unavailable_reason().empty()) GTEST_SKIP() << core::cuda_unavailable_reason();
    device_ = core::open_device(cuda ? "cuda" : "cpu");
    const std::string reason =
        unavailable_reason(GetParam(), device_->info(), precisions_of(GetParam()).front());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  std::shared_ptr<core::Device> device_;
};

TEST_P(CrossEntropyVariant, ShowsLogitsThatAreNotFinite) {
  const OpShape shape{.batch = 6, .in_channels = 11};
  for (const Precision precision : precisions_of(GetParam())) {
    Operands before = random_operands(Op::cross_entropy_forward, shape, precision, 3);
    Values logits = operand_values(Op::cross_entropy_forward, before, Name::logits, precision);
    const auto logit = [&](std::size_t image, std::size_t c) -> double& { return logits[image * 11 + c]; };
    logit(1, 0) = kNan;
    logit(2, 7) = kNan;
    logit(2, 3) = 90;
    logit(3, 4) = kInfinity;
    logit(3, 9) = kInfinity;
    logit(4, 6) = -kInfinity;  // a class that cannot be: no harm
    before[Name::logits] = encode(logits, element_type(ops::Role::activation, precision));
    before[Name::labels] = codes({1, 1, 1, 1, 1, 1});

    OpRun op_run(GetParam(), device_, shape, precision);
    const Operands after = op_run.run(before);
    ASSERT_EQ(op_run.fault(), "");
    const Values losses = operand_values(Op::cross_entropy_forward, after, Name::sample_losses, precision);
    EXPECT_TRUE(std::isfinite(losses[0]));
    EXPECT_TRUE(std::isnan(losses[1]));
    EXPECT_TRUE(std::isnan(losses[2]));
    EXPECT_FALSE(std::isfinite(losses[3]));
    EXPECT_TRUE(std::isfinite(losses[4]));
    const Bytes& predicted = after[Name::predicted];
    EXPECT_EQ(predicted[1], std::byte{0});
    EXPECT_EQ(predicted[2], std::byte{0});
    EXPECT_EQ(predicted[3], std::byte{4});
    const double loss = operand_values(Op::cross_entropy_forward, after, Name::loss, precision)[0];
    EXPECT_FALSE(std::isfinite(loss));
  }
}

TEST_P(CrossEntropyVariant, CountsManyImagesExactly) {
  const OpShape shape{.batch = 65'536, .in_channels = 2};
  const Precision precision = precisions_of(GetParam()).front();
  const Operands before = random_operands(Op::cross_entropy_forward, shape, precision, 5);
  const Operands expected =
      run_reference(Op::cross_entropy_forward, shape,
                    convert(Op::cross_entropy_forward, before, precision, Precision::fp64));
  OpRun op_run(GetParam(), device_, shape, precision);
  const Operands after = op_run.run(before);
  ASSERT_EQ(op_run.fault(), "");
  const auto number = [&](Name name, const Operands& operands, Precision stored) {
    return operand_values(Op::cross_entropy_forward, operands, name, stored)[0];
  };
  EXPECT_EQ(number(Name::accuracy, after, precision), number(Name::accuracy, expected, Precision::fp64));
  const double loss = number(Name::loss, expected, Precision::fp64);
  EXPECT_NEAR(number(Name::loss, after, precision), loss, loss * ops::tolerance(precision, 2));
}

INSTANTIATE_TEST_SUITE_P(Variants, CrossEntropyVariant, testing::ValuesIn(forward_variants()), test_name);

}  // namespace
}  // namespace warpscope::verify::cross_entropy_test
