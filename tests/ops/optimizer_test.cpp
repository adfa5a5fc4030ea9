// The update rules, worked out by hand, and the arithmetic that loops and kernels share against the reference's formulas.

#include "gpu/ops/optimizer/optimizer.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "gpu/ops/optimizer/rules.h"
#include "gpu/verify/op_check.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Op;
using ops::OpShape;
using ops::UpdateRule;
using ops::step::StepControl;
using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Bytes numbers(const Values& values) {
  return encode(values, core::ElementType::f64);
}

Bytes bytes_of(const StepControl& control) {
  Bytes bytes(sizeof(control));
  std::memcpy(bytes.data(), &control, sizeof(control));
  return bytes;
}

StepControl control_of(const Bytes& bytes) {
  StepControl control;
  std::memcpy(&control, bytes.data(), sizeof(control));
  return control;
}

/// The second update with rate 1/2, d = 1/2, e = 3/4, decay 1/4 and a loss scale of 4.
StepControl settings() {
  StepControl control;
  control.learning_rate = 0.5f;
  control.first_decay = 0.5f;
  control.second_decay = 0.75f;
  control.weight_decay = 0.25f;
  control.loss_scale = 4;
  control.updates = 1;
  return control;
}

struct State {
  Values parameters;
  Values first;
  Values second;
  Values statistics;
};

/// The reference's update of `before`; `norm_parts` has but one part that is not 0.
State update(UpdateRule rule, const StepControl& control, const Values& gradients, State before,
             double loss = 1, double norm_part = 0) {
  const OpShape shape{.count = static_cast<std::int64_t>(gradients.size()), .rule = rule};
  before.first.resize(ops::states_of(rule) >= 1 ? gradients.size() : 0);
  before.second.resize(ops::states_of(rule) >= 2 ? gradients.size() : 0);
  Values parts(ops::kSumParts);
  parts[200] = norm_part;
  const Operands after = run_reference(Op::optimizer_update, shape,
                                       {numbers(gradients),
                                        bytes_of(control),
                                        numbers(parts),
                                        numbers({loss, 0}),
                                        numbers(before.parameters),
                                        numbers(before.first),
                                        numbers(before.second),
                                        {}});
  const auto values = [&](int index) {
    return operand_values(Op::optimizer_update, after, index, Precision::fp64);
  };
  return {values(ops::optimizer::kUpdateParameters), values(ops::optimizer::kUpdateFirstState),
          values(ops::optimizer::kUpdateSecondState), values(ops::optimizer::kUpdateStatistics)};
}

/// p = 4, g = 2 (8 before it is unscaled).
State update_one(UpdateRule rule, double first = 0, double second = 0, float epsilon = 0) {
  StepControl control = settings();
  control.epsilon = epsilon;
  return update(rule, control, {8}, {{4}, {first}, {second}, {}});
}

TEST(OptimizerUpdate, SgdAddsTheDecayToTheGradient) {
  EXPECT_EQ(update_one(UpdateRule::sgd).parameters, (Values{4 - 0.5 * (2 + 0.25 * 4)}));
}

TEST(OptimizerUpdate, MomentumAccumulatesAVelocity) {
  const State after = update_one(UpdateRule::momentum, 8);
  EXPECT_EQ(after.first, (Values{0.5 * 8 + 3}));
  EXPECT_EQ(after.parameters, (Values{4 - 0.5 * 7}));
}

TEST(OptimizerUpdate, NesterovLooksAhead) {
  const State after = update_one(UpdateRule::nesterov, 8);
  EXPECT_EQ(after.first, (Values{7}));
  EXPECT_EQ(after.parameters, (Values{4 - 0.5 * (3 + 0.5 * 7)}));
}

TEST(OptimizerUpdate, AdamCorrectsBothMoments) {
  const State after = update_one(UpdateRule::adam, 8, 1);
  EXPECT_EQ(after.first, (Values{0.5 * 8 + 0.5 * 3}));
  EXPECT_EQ(after.second, (Values{0.75 * 1 + 0.25 * 9}));
  EXPECT_DOUBLE_EQ(after.parameters[0], 4 - 0.5 / 0.75 * 5.5 / std::sqrt(3 / 0.4375));
}

TEST(OptimizerUpdate, AdamwDecaysTheParameterByItself) {
  const State after = update_one(UpdateRule::adamw, 8, 1);
  EXPECT_EQ(after.first, (Values{5}));
  EXPECT_EQ(after.second, (Values{1.75}));
  EXPECT_DOUBLE_EQ(after.parameters[0], 4 - 0.5 - 0.5 / 0.75 * 5 / 2);
}

TEST(OptimizerUpdate, RmspropDividesByTheRootOfTheMeanSquare) {
  const State after = update_one(UpdateRule::rmsprop, 9, 0, 1);
  EXPECT_EQ(after.first, (Values{9}));
  EXPECT_EQ(after.parameters, (Values{4 - 0.5 * 3 / (3 + 1)}));
}

TEST(OptimizerUpdate, LionStepsByTheSignAlone) {
  const State after = update_one(UpdateRule::lion, 8);
  EXPECT_EQ(after.parameters, (Values{4 - 0.5 - 0.5}));
  EXPECT_EQ(after.first, (Values{0.75 * 8 + 0.25 * 2}));
  StepControl control = settings();
  control.weight_decay = 0;
  EXPECT_EQ(update(UpdateRule::lion, control, {0}, {{4}, {0}, {}, {}}).parameters, (Values{4}));
}

TEST(OptimizerUpdate, ClipsByNormAndThenByValue) {
  StepControl control = settings();
  control.weight_decay = 0;
  control.clip_norm = 2.5f;  // of a norm of 5: halves
  const auto clipped = [&] {
    return update(UpdateRule::sgd, control, {12, 16}, {{0, 0}, {}, {}, {}}, 1, 400).parameters;
  };
  EXPECT_NEAR(clipped()[0], -0.75, 1e-6);
  EXPECT_NEAR(clipped()[1], -1, 1e-6);
  control.clip_value = 1.75f;
  EXPECT_NEAR(clipped()[0], -0.75, 1e-6);
  EXPECT_DOUBLE_EQ(clipped()[1], -0.875);
  control.clip_norm = 6;
  EXPECT_EQ(clipped(), (Values{-0.875, -0.875})) << "a norm below the limit stays";
}

TEST(OptimizerUpdate, LeavesEverythingAtAnOverflowAHaltOrALossThatIsNotFinite) {
  const State before{{4}, {8}, {1}, {}};
  StepControl overflow = settings();
  overflow.overflow = 1;
  StepControl halted = settings();
  halted.halted = 1;
  for (const State& after :
       {update(UpdateRule::adam, overflow, {8}, before), update(UpdateRule::adam, halted, {8}, before),
        update(UpdateRule::adam, settings(), {8}, before, kNan)}) {
    EXPECT_EQ(after.parameters, before.parameters);
    EXPECT_EQ(after.first, before.first);
    EXPECT_EQ(after.second, before.second);
    EXPECT_EQ(after.statistics[ops::step::kUpdateStatistic * ops::kSumParts], 0);
    EXPECT_EQ(after.statistics[ops::step::kParameterStatistic * ops::kSumParts], 16);
  }
}

TEST(OptimizerUpdate, LeavesStatisticsOfEachSlice) {
  // 1030 parameters: slices of 8, of which the last that is not empty holds 6.
  ASSERT_EQ(ops::slice_length(1030), 8);
  StepControl control = settings();
  control.weight_decay = 0;
  control.clip_value = 1;
  const State after = update(UpdateRule::sgd, control, Values(1030, 8), {Values(1030, 3), {}, {}, {}});
  for (std::size_t part = 0; part < ops::kSumParts; ++part) {
    const double elements = part < 128 ? 8 : part == 128 ? 6 : 0;
    EXPECT_EQ(after.statistics[part], 4 * elements) << part;
    EXPECT_EQ(after.statistics[ops::kSumParts + part], 0.25 * elements) << part;
    EXPECT_EQ(after.statistics[2 * ops::kSumParts + part], 9 * elements) << part;
  }
}

TEST(UpdatePerSample, TakesEverySampleForAWholeBatch) {
  StepControl control = settings();
  control.weight_decay = 0;
  const OpShape shape{.batch = 2, .count = 1, .rule = UpdateRule::momentum};
  const Operands before{numbers({8, 4}), bytes_of(control), numbers({4}), numbers({8}), {}};
  const Operands after = run_reference(Op::optimizer_update_per_sample, shape, before);
  // v: 8 -> 4 + 2 = 6 -> 3 + 1 = 4; p: 4 - 0.5 6 = 1 -> 1 - 0.5 4 = -1
  EXPECT_EQ(operand_values(Op::optimizer_update_per_sample, after, 2, Precision::fp64), (Values{-1}));
  EXPECT_EQ(operand_values(Op::optimizer_update_per_sample, after, 3, Precision::fp64), (Values{4}));
  control.halted = 1;
  EXPECT_EQ(run_reference(Op::optimizer_update_per_sample, shape,
                          {before[0], bytes_of(control), before[2], before[3], {}})[2],
            before[2]);
}

TEST(UpdatePerSample, LoopsTakeTheSamplesInTheOrderOfTheReference) {
  const ops::Variant& loops = *find_variant(Op::optimizer_update_per_sample, core::DeviceKind::cpu, "loops");
  for (int rule = 0; rule < ops::kUpdateRuleCount; ++rule) {
    OpShape shape{.batch = 6, .count = 500, .rule = static_cast<UpdateRule>(rule)};
    if (shape.rule == UpdateRule::lion) shape.batch = 1;  // the sign of a sum near 0 is nobody's
    const Check check = check_variant(loops, core::open_device("cpu"), shape, Precision::fp32, 11);
    EXPECT_EQ(check.failure, "");
  }
}

TEST(GradientsAccumulate, AveragesOverTheMicroBatches) {
  StepControl control;
  control.micro_batches = 4;
  const auto sums = [&](const Values& before) {
    return operand_values(Op::gradients_accumulate,
                          run_reference(Op::gradients_accumulate, {.count = 2},
                                        {numbers({8, -2}), bytes_of(control), numbers(before)}),
                          ops::optimizer::kAccumulateSums, Precision::fp64);
  };
  EXPECT_EQ(sums({kNan, 7}), (Values{2, -0.5})) << "the first one starts from 0";
  control.micro_batch = 3;
  EXPECT_EQ(sums({1, 1}), (Values{3, 0.5}));
}

TEST(GradientsKeep, WritesTheRowOfTheSample) {
  StepControl control;
  control.micro_batch = 5;
  const Operands after = run_reference(Op::gradients_keep, {.batch = 3, .count = 2},
                                       {numbers({8, 9}), bytes_of(control), numbers({1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(operand_values(Op::gradients_keep, after, 2, Precision::fp64), (Values{1, 2, 3, 4, 8, 9}));
}

TEST(GradientsNorm, SumsSquaresBySliceAndNotesWhatIsNotFinite) {
  const auto run = [](const Values& gradients, std::uint32_t overflow) {
    StepControl control;
    control.overflow = overflow;
    return run_reference(Op::gradients_norm, {.count = static_cast<std::int64_t>(gradients.size())},
                         {numbers(gradients), bytes_of(control), {}});
  };
  const Operands after = run({1, 2, 3, 4, 5, -6}, 0);
  const Values parts = operand_values(Op::gradients_norm, after, 2, Precision::fp64);
  EXPECT_EQ(parts[0], 30);
  EXPECT_EQ(parts[1], 61);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), 0.0), ops::kSumParts - 2);
  EXPECT_EQ(control_of(after[1]).overflow, 0u);
  EXPECT_EQ(control_of(run({1, kNan}, 0)[1]).overflow, 1u);
  EXPECT_EQ(control_of(run({-kInfinity, 0}, 0)[1]).overflow, 1u);
  EXPECT_EQ(control_of(run({1, 2}, 1)[1]).overflow, 1u) << "it is cleared elsewhere";
}

TEST(GradientsNorm, LargeSquaresAreNoOverflow) {
  // In FP32 the sum is an infinity, the gradients are not.
  const ops::Variant& loops = *find_variant(Op::gradients_norm, core::DeviceKind::cpu, "loops");
  OpRun run(loops, core::open_device("cpu"), {.count = 2}, Precision::fp32);
  const Operands after =
      run.run({encode(Values{1e30, -1e30}, core::ElementType::f32), bytes_of(StepControl{}), {}});
  EXPECT_EQ(control_of(after[1]).overflow, 0u);
  EXPECT_EQ(operand_values(Op::gradients_norm, after, 2, Precision::fp32)[0], kInfinity);
}

/// rules.h in double, on random operands of the reference.
template <UpdateRule R>
void compare_rules() {
  const OpShape shape{.count = 300, .rule = R};
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const Operands before = random_operands(Op::optimizer_update, shape, Precision::fp64, seed);
    const Operands after = run_reference(Op::optimizer_update, shape, before);
    const StepControl control = control_of(before[ops::optimizer::kUpdateControl]);
    const auto values = [&](const Operands& operands, int index) {
      Values list = operand_values(Op::optimizer_update, operands, index, Precision::fp64);
      if (list.empty()) list.resize(300);
      return list;
    };
    const Values gradients = values(before, ops::optimizer::kUpdateGradients);
    const Values parts = values(before, ops::optimizer::kUpdateNormParts);
    const Values parameters = values(before, ops::optimizer::kUpdateParameters);
    const Values first = values(before, ops::optimizer::kUpdateFirstState);
    const Values second = values(before, ops::optimizer::kUpdateSecondState);
    double squares = 0;
    for (const double part : parts) squares += part;
    const auto rule_settings = ops::optimizer::settings_of<R>(control, squares);
    const double loss = values(before, ops::optimizer::kUpdateMetrics)[0];
    if (ops::step::skips_update(control, static_cast<float>(loss))) continue;
    Values out[4];
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const double g = ops::optimizer::clipped(rule_settings, gradients[i] * rule_settings.unscale);
      const auto made = ops::optimizer::updated<R>(rule_settings, g, parameters[i], first[i], second[i]);
      out[0].push_back(made.parameter);
      out[3].push_back(parameters[i] + made.change);
      out[1].push_back(made.first);
      out[2].push_back(made.second);
    }
    EXPECT_LT(relative_error(out[0], values(after, ops::optimizer::kUpdateParameters)), 1e-12);
    EXPECT_LT(relative_error(out[3], out[0]), 1e-12);
    EXPECT_LT(relative_error(out[1], values(after, ops::optimizer::kUpdateFirstState)), 1e-12);
    EXPECT_LT(relative_error(out[2], values(after, ops::optimizer::kUpdateSecondState)), 1e-12);
  }
}

TEST(Rules, AreTheReferencesFormulas) {
  for (int rule = 0; rule < ops::kUpdateRuleCount; ++rule) {
    SCOPED_TRACE(to_string(static_cast<UpdateRule>(rule)));
    ops::optimizer::with_rule(static_cast<UpdateRule>(rule),
                              [](auto constant) { compare_rules<decltype(constant)::value>(); });
  }
}

TEST(Rules, BiasCorrectionIsExactToTheLastPlaces) {
  for (const float decay : {0.9f, 0.999f, 0.9999f, 0.5f, 0.0f}) {
    for (const std::uint32_t t : {1u, 2u, 3u, 10u, 1000u, 123457u, 10000000u}) {
      const double exact = 1 - std::pow(static_cast<double>(decay), static_cast<double>(t));
      EXPECT_NEAR(1 - ops::optimizer::power(decay, t), exact, 1e-12 * exact) << decay << " " << t;
    }
  }
}

TEST(Rules, ANanIsNeitherClippedNorSigned) {
  StepControl control = settings();
  control.clip_value = 1;
  const auto made = ops::optimizer::settings_of<UpdateRule::lion>(control, 0.0f);
  EXPECT_TRUE(std::isnan(ops::optimizer::clipped(made, std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(ops::optimizer::sign(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace warpscope::verify
