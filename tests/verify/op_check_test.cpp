// The harness must catch what it is there to catch: each test gives it a variant with one fault.

#include "gpu/verify/op_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/chains.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/host_values.h"

namespace warpscope::verify::op_check_test {
namespace {

using core::ElementType;
using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpCall;
using ops::OpShape;
using ops::Variant;

constexpr OpShape kShape{.batch = 2, .height = 3, .width = 5, .in_channels = 7};
constexpr std::int64_t kElements = 2 * 3 * 5 * 7;

void relu(const OpCall& call) {
  const float* x = call.operand<const float>(Name::input);
  float* y = call.operand<float>(Name::output);
  for (std::int64_t i = 0; i < kElements; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

Check check_relu(void (*launch)(const OpCall&), bool deterministic = true,
                 std::size_t (*workspace)(const OpShape&, Precision) = nullptr) {
  const Variant variant{.op = Op::relu_forward,
                        .name = "tested",
                        .precisions = {Precision::fp32},
                        .deterministic = deterministic,
                        .summary = "",
                        .launch = launch,
                        .workspace_bytes = workspace};
  return check_variant(variant, core::open_device("cpu"), kShape, Precision::fp32, 1);
}

TEST(OpCheck, PassesARightVariant) {
  const Check check = check_relu(relu);
  EXPECT_EQ(check.failure, "");
  EXPECT_EQ(check.worst_error, 0);
  EXPECT_GT(check.tolerance, 0);
}

TEST(OpCheck, CatchesAnElementLeftUnwritten) {
  const Check check = check_relu([](const OpCall& call) {
    const float left = call.operand<float>(Name::output)[kElements - 1];
    relu(call);
    call.operand<float>(Name::output)[kElements - 1] = left;
  });
  EXPECT_EQ(check.failure,
            "relu.forward tested cpu fp32 on 2x3x5x7: operand 'output' has a relative error of inf, more "
            "than 3.58e-07");
}

TEST(OpCheck, CatchesOneSlightlyWrongElement) {
  const Check check = check_relu([](const OpCall& call) {
    relu(call);
    call.operand<float>(Name::output)[17] += 1e-4f;
  });
  EXPECT_NE(check.failure.find("relative error"), std::string::npos) << check.failure;
}

TEST(OpCheck, CatchesAWriteToAnInput) {
  const Check check = check_relu([](const OpCall& call) {
    relu(call);
    if (call.operands[Name::input] != call.operands[Name::output]) call.operand<float>(Name::input)[3] = 1;
  });
  EXPECT_NE(check.failure.find("changed the operand 'input'"), std::string::npos) << check.failure;
}

TEST(OpCheck, CatchesWritesPastEitherEnd) {
  const Check past = check_relu([](const OpCall& call) {
    relu(call);
    call.operand<float>(Name::output)[kElements] = 0;
  });
  EXPECT_NE(past.failure.find("wrote past the end of the operand 'output'"), std::string::npos)
      << past.failure;
  const Check before = check_relu([](const OpCall& call) {
    relu(call);
    call.operand<float>(Name::output)[-1] = 0;
  });
  EXPECT_NE(before.failure.find("wrote before the operand 'output'"), std::string::npos) << before.failure;
}

TEST(OpCheck, CatchesAWorkspaceThatIsTooSmall) {
  const Check check = check_relu(
      [](const OpCall& call) {
        relu(call);
        static_cast<std::uint8_t*>(call.workspace)[64] = 0;
      },
      true, [](const OpShape&, Precision) { return std::size_t{64}; });
  EXPECT_NE(check.failure.find("wrote past the end of the workspace"), std::string::npos) << check.failure;
}

TEST(OpCheck, CatchesAVariantThatTrustsItsWorkspaceToBeZero) {
  const Check check = check_relu(
      [](const OpCall& call) {
        relu(call);
        call.operand<float>(Name::output)[0] += *static_cast<float*>(call.workspace);
      },
      true, [](const OpShape&, Precision) { return sizeof(float); });
  EXPECT_NE(check.failure.find("relative error of inf"), std::string::npos) << check.failure;
}

// Adds an error that is within the tolerance and different in every call.
void drift(const OpCall& call) {
  static int calls = 0;
  relu(call);
  float* y = call.operand<float>(Name::output);
  std::int64_t i = 0;
  while (y[i] == 0) ++i;
  if (++calls % 2 == 0) y[i] = std::nextafter(y[i], 100.0f);
}

TEST(OpCheck, ComparesBitsOfVariantsThatSayTheyAreDeterministic) {
  EXPECT_NE(check_relu(drift, true).failure.find("other bits the second time"), std::string::npos);
  EXPECT_EQ(check_relu(drift, false).failure, "");
}

TEST(OpCheck, CatchesAVariantThatFailsOnlyInPlace) {
  const Check check = check_relu([](const OpCall& call) {
    const float* x = call.operand<const float>(Name::input);
    float* y = call.operand<float>(Name::output);
    for (std::int64_t i = 0; i < kElements; ++i) y[i] = 0;
    for (std::int64_t i = 0; i < kElements; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  });
  EXPECT_NE(check.failure.find("in place: operand 'output'"), std::string::npos) << check.failure;
}

TEST(OpCheck, CatchesAWrongArgmax) {
  Variant variant =
      *find_variant(*ops::built_in_variants(), Op::maxpool2d_forward, core::DeviceKind::cpu, "loops");
  variant.launch = [right = variant.launch](const OpCall& call) {
    right(call);
    call.operand<std::uint8_t>(Name::argmax)[1] ^= 1;
  };
  OpShape shape = kShape;
  shape.kernel_height = shape.kernel_width = 2;
  const Check check = check_variant(variant, core::open_device("cpu"), shape, Precision::fp32, 1);
  EXPECT_NE(check.failure.find("operand 'argmax' differs from the reference at byte 1"), std::string::npos)
      << check.failure;
}

TEST(OpCheck, HoldsWhatIsNotFiniteAgainstTheReferenceToo) {
  // Half of the random gradients hold a NaN or an infinity, and so do the parts of their norm.
  Variant variant =
      *find_variant(*ops::built_in_variants(), Op::gradients_norm, core::DeviceKind::cpu, "loops");
  const auto failures = [&] {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
      const Check check =
          check_variant(variant, core::open_device("cpu"), {.count = 500}, Precision::fp32, seed);
      count += check.failure.find("'norm_parts'") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(failures(), 0);
  variant.launch = [right = variant.launch](const OpCall& call) {
    right(call);
    float* parts = call.operand<float>(Name::norm_parts);
    for (int i = 0; i < ops::kSumParts; ++i) parts[i] = std::isfinite(parts[i]) ? parts[i] : 0.0f;
  };
  EXPECT_GT(failures(), 2);
  EXPECT_LT(failures(), 14);
}

TEST(OpCheck, MeasuresFewOutputsAgainstWhatTheirProductsUsuallySumTo) {
  const OpShape shape{.batch = 1, .in_channels = 513, .out_channels = 1};
  const Case tested = make_case(alone(Op::linear_forward), shape, Precision::fp32, 4);
  const auto x = decode(tested.before[Name::input], ElementType::f32);
  const auto w = decode(tested.before[Name::weights], ElementType::f32);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += x[i] * w[i] * x[i] * w[i];
  EXPECT_NEAR(tested.usual_norm, std::sqrt(squares), 1e-12 * std::sqrt(squares));

  const OpShape many{.batch = 20, .in_channels = 5, .out_channels = 30};
  EXPECT_EQ(make_case(alone(Op::linear_forward), many, Precision::fp32, 4).usual_norm, 0);
}

TEST(OpCheck, CatchesAWrongOutputThatShouldCancel) {
  const OpShape shape{.batch = 1, .in_channels = 2, .out_channels = 1};
  Case tested = make_case(alone(Op::linear_forward), shape, Precision::fp32, 4);
  tested.before[Name::input] = encode(std::vector{1.0, -1.0}, ElementType::f32);
  tested.before[Name::weights] = encode(std::vector{3.0, 3.0}, ElementType::f32);
  tested.expected[Name::output] = encode(std::vector{0.0}, ElementType::f64);
  tested.usual_norm = std::sqrt(18.0);
  const auto check = [&](void (*launch)(const OpCall&)) {
    const Variant variant{.op = Op::linear_forward,
                          .name = "tested",
                          .precisions = {Precision::fp32},
                          .summary = "",
                          .launch = launch};
    return check_case(variant, core::open_device("cpu"), Precision::fp32, tested).failure;
  };
  EXPECT_EQ(check([](const OpCall& call) { *call.operand<float>(Name::output) = 1e-7f; }), "");
  EXPECT_NE(check([](const OpCall& call) { *call.operand<float>(Name::output) = 1e-4f; }), "");
}

/// The FP16 gradients of means over an image: rightly rounded, or `step` numbers of the type beside that.
template <int step>
void spread_means(const OpCall& call) {
  const auto* dy = call.operand<const std::uint16_t>(Name::output_gradient);
  auto* dx = call.operand<std::uint16_t>(Name::input_gradient);
  const std::size_t pixels = static_cast<std::size_t>(call.shape.height) * call.shape.width;
  for (std::int64_t c = 0; c < call.shape.in_channels; ++c) {
    const double gradient = decode(std::as_bytes(std::span(dy + c, 1)), ElementType::f16)[0];
    const double mean = gradient / static_cast<double>(pixels);
    std::uint16_t half{};
    std::memcpy(&half, encode(std::span(&mean, 1), ElementType::f16).data(), sizeof(half));
    for (std::size_t i = 0; i < pixels; ++i) {
      dx[i * call.shape.in_channels + c] = static_cast<std::uint16_t>(half + step);
    }
  }
}

TEST(OpCheck, MeasuresNumbersBelowTheNormalRangeByWhatRoundingMayDoToThem) {
  const OpShape shape{.batch = 1, .height = 263, .width = 257, .in_channels = 3};
  const auto check = [&](void (*launch)(const OpCall&)) {
    const Variant variant{.op = Op::global_average_pool_backward,
                          .name = "tested",
                          .precisions = {Precision::fp16},
                          .summary = "",
                          .launch = launch};
    return check_variant(variant, core::open_device("cpu"), shape, Precision::fp16, 1).failure;
  };
  EXPECT_EQ(check(spread_means<0>), "");
  EXPECT_NE(check(spread_means<2>), "");
}

TEST(RandomOperands, OfUpdatesBelongTogether) {
  int clipped = 0;
  int skipped = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const OpShape shape{.count = 700, .rule = ops::UpdateRule::adam};
    const Operands operands = random_operands(Op::optimizer_update, shape, Precision::fp32, seed);
    const auto values = [&](Name name) {
      return operand_values(Op::optimizer_update, operands, name, Precision::fp32);
    };
    ops::step::StepControl control;
    std::memcpy(&control, operands[Name::control].data(), sizeof(control));
    double squares = 0;
    for (const double part : values(Name::norm_parts)) squares += part;
    const auto gradients = values(Name::gradients);
    const double right = std::inner_product(gradients.begin(), gradients.end(), gradients.begin(), 0.0);
    EXPECT_NEAR(squares, right, 1e-5 * right);
    EXPECT_NEAR(std::sqrt(right) / control.loss_scale, std::sqrt(700), 5);
    for (const double moment : values(Name::second_state)) ASSERT_GE(moment, 0);
    for (const float decay : {control.first_decay, control.second_decay}) {
      EXPECT_GT(decay, 0);
      EXPECT_LT(decay, 1);
    }
    EXPECT_LE(control.updates, 1000u);
    const double loss = values(Name::metrics)[ops::step::kLossMetric];
    clipped += control.clip_norm > 0 ? 1 : 0;
    skipped += ops::step::skips_update(control, static_cast<float>(loss)) ? 1 : 0;
  }
  EXPECT_GT(clipped, 10);
  EXPECT_LT(clipped, 30);
  EXPECT_GT(skipped, 4);
  EXPECT_LT(skipped, 25);
}

TEST(RandomOperands, AreLargeAtOnePositionWhereACallAddsThemToItsOwnSums) {
  Variant variant{.op = Op::batch_norm_forward};
  variant.chain = ops::sum_and_activation_after(Op::batch_norm_forward);
  OpShape shape = kShape;
  shape.covered = {Op::add_forward, Op::gelu_forward};
  const Operands operands = random_operands(variant, shape, Precision::fp32, 1);
  const std::vector<double> added = decode(operands[Name::addend], ElementType::f32);
  ASSERT_EQ(added.size(), static_cast<std::size_t>(kElements));
  const auto channels = added.begin() + kShape.in_channels;
  EXPECT_TRUE(std::all_of(added.begin(), channels, [](double each) { return each >= 8; }));
  EXPECT_TRUE(std::any_of(channels, added.end(), [](double each) { return each < 0; }));
}

TEST(RandomOperands, AreTheSameForTheSameSeed) {
  for (const auto& contract : ops::contracts()) {
    OpShape shape = kShape;
    shape.count = 11;
    const Operands first = random_operands(contract.op, shape, Precision::fp32, 5);
    EXPECT_TRUE(first == random_operands(contract.op, shape, Precision::fp32, 5)) << contract.name;
    EXPECT_FALSE(first == random_operands(contract.op, shape, Precision::fp32, 6)) << contract.name;
  }
}

TEST(RandomOperands, LieFarOffZeroForVariantsAloneThatTakeIt) {
  const OpShape shape{.batch = 40, .in_channels = 3};
  const auto largest = [&](Op op, Name name, bool far_means) {
    Variant variant = alone(op);
    variant.far_means = far_means;
    double most = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const Operands operands = random_operands(variant, shape, Precision::fp32, seed);
      for (const double value : operand_values(op, operands, name, Precision::fp32)) {
        most = std::max(most, std::abs(value));
      }
    }
    return most;
  };
  for (const Op op : {Op::batch_norm_forward, Op::batch_norm_infer, Op::batch_norm_backward}) {
    EXPECT_GT(largest(op, Name::input, true), 900) << to_string(op);
    EXPECT_LT(largest(op, Name::input, false), 10) << to_string(op);
  }
}

TEST(HostValues, RoundToHalfPrecisionToNearestEven) {
  // 2049 lies midway between 2048 and 2050; 65519 is the last that does not round to infinity; 2^-24 is the
  // smallest.
  const std::vector<double> values{
      1.0, -2.5, 2049, 2051, 65519, 65520, std::ldexp(1.0, -24), std::ldexp(1.0, -26), -0.0};
  const auto rounded = decode(encode(values, ElementType::f16), ElementType::f16);
  EXPECT_EQ(rounded,
            (std::vector<double>{1.0, -2.5, 2048, 2052, 65504, std::numeric_limits<double>::infinity(),
                                 std::ldexp(1.0, -24), 0, 0}));
  EXPECT_TRUE(std::signbit(rounded.back()));
}

TEST(HostValues, EveryHalfPrecisionNumberSurvives) {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const Bytes bytes{static_cast<std::byte>(bits & 0xff), static_cast<std::byte>(bits >> 8)};
      const auto value = decode(bytes, type);
      if (std::isnan(value[0])) continue;
      ASSERT_EQ(encode(value, type), bytes) << to_string(type) << " " << bits;
    }
  }
}

TEST(HostValues, RoundToBfloat16ToNearestEven) {
  const auto rounded =
      decode(encode(std::vector<double>{257, 259, 1.0, -3.0}, ElementType::bf16), ElementType::bf16);
  EXPECT_EQ(rounded, (std::vector<double>{256, 260, 1.0, -3.0}));
}

TEST(HostValues, NanNeverCompares) {
  const std::vector<double> nan{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(relative_error(nan, nan), std::numeric_limits<double>::infinity());
  EXPECT_EQ(relative_error(std::vector{1.0}, std::vector{0.0}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(relative_error(std::vector{0.0}, std::vector{0.0}), 0);
  EXPECT_DOUBLE_EQ(relative_error(std::vector{3.0, 4.5}, std::vector{3.0, 4.0}), 0.1);
  EXPECT_DOUBLE_EQ(relative_error(std::vector{3.0, 4.5}, std::vector{3.0, 4.0}, 2.0), 0.1);
  EXPECT_DOUBLE_EQ(relative_error(std::vector{3.0, 4.5}, std::vector{3.0, 4.0}, 10.0), 0.05);
}

}  // namespace
}  // namespace warpscope::verify::op_check_test
