// The update rules, worked out by hand, and the arithmetic that loops and kernels share against the
// reference's formulas.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "gpu/ops/launch.h"
#include "gpu/ops/optimizer/rules.h"
#include "gpu/verify/op_check.h"

namespace warpscope::verify::optimizer_test {
namespace {

using core::Precision;
using ops::Name;
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
                                       {{Name::gradients, numbers(gradients)},
                                        {Name::control, bytes_of(control)},
                                        {Name::norm_parts, numbers(parts)},
                                        {Name::metrics, numbers({loss, 0, 0})},
                                        {Name::parameters, numbers(before.parameters)},
                                        {Name::first_state, numbers(before.first)},
                                        {Name::second_state, numbers(before.second)}});
  const auto values = [&](Name name) {
    return operand_values(Op::optimizer_update, after, name, Precision::fp64);
  };
  return {values(Name::parameters), values(Name::first_state), values(Name::second_state),
          values(Name::statistics)};
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

TEST(OptimizerUpdate, LionStepsOnlyByTheSign) {
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
  const Operands before{{Name::gradients, numbers({8, 4})},
                        {Name::control, bytes_of(control)},
                        {Name::parameters, numbers({4})},
                        {Name::first_state, numbers({8})}};
  const Operands after = run_reference(Op::optimizer_update_per_sample, shape, before);
  // v: 8 -> 4 + 2 = 6 -> 3 + 1 = 4; p: 4 - 0.5 6 = 1 -> 1 - 0.5 4 = -1
  EXPECT_EQ(operand_values(Op::optimizer_update_per_sample, after, Name::parameters, Precision::fp64),
            (Values{-1}));
  EXPECT_EQ(operand_values(Op::optimizer_update_per_sample, after, Name::first_state, Precision::fp64),
            (Values{4}));
  control.halted = 1;
  EXPECT_EQ(run_reference(Op::optimizer_update_per_sample, shape,
                          {{Name::gradients, before[Name::gradients]},
                           {Name::control, bytes_of(control)},
                           {Name::parameters, before[Name::parameters]},
                           {Name::first_state, before[Name::first_state]}})[Name::parameters],
            before[Name::parameters]);
}

TEST(UpdatePerSample, LoopsTakeTheSamplesInTheOrderOfTheReference) {
  const ops::Variant& loops = *find_variant(*ops::built_in_variants(), Op::optimizer_update_per_sample,
                                            core::DeviceKind::cpu, "loops");
  for (int rule = 0; rule < ops::kUpdateRuleCount; ++rule) {
    OpShape shape{.batch = 6, .count = 500, .rule = static_cast<UpdateRule>(rule)};
    if (ops::row_of(shape.rule).takes_sign) shape.batch = 1;  // the sign of a sum near 0 is nobody's
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
                                        {{Name::gradients, numbers({8, -2})},
                                         {Name::control, bytes_of(control)},
                                         {Name::sums, numbers(before)}}),
                          Name::sums, Precision::fp64);
  };
  EXPECT_EQ(sums({kNan, 7}), (Values{2, -0.5})) << "the first one starts from 0";
  control.micro_batch = 3;
  EXPECT_EQ(sums({1, 1}), (Values{3, 0.5}));
}

TEST(GradientsAccumulate, AddsTheSumsOfShardsByATree) {
  StepControl control;
  control.micro_batches = 8;  // two in each of four shards
  Values sums(9, kNan);
  for (control.micro_batch = 0; control.micro_batch < 8; ++control.micro_batch) {
    const double gradient = std::exp2(control.micro_batch) * 8;
    sums = operand_values(Op::gradients_accumulate,
                          run_reference(Op::gradients_accumulate, {.count = 3, .shards = 4},
                                        {{Name::gradients, numbers({gradient, -gradient, 0})},
                                         {Name::control, bytes_of(control)},
                                         {Name::sums, numbers(sums)}}),
                          Name::sums, Precision::fp64);
    if (control.micro_batch == 1) {
      EXPECT_EQ(sums[3], 3) << "the first shard waits for its neighbour";
    }
    if (control.micro_batch == 3) {
      EXPECT_EQ(sums[6], 15) << "two shards wait for two";
    }
  }
  EXPECT_EQ(Values(sums.begin(), sums.begin() + 3), (Values{255, -255, 0}));
}

TEST(GradientsAccumulate, OfTwoRanksIsThatOfOneBitForBit) {
  constexpr int kShards = 8;
  const ops::Variant* loops =
      ops::find_variant(*ops::built_in_variants(), Op::gradients_accumulate, core::DeviceKind::cpu, "loops");
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  const ops::Context context{device};
  // The sum of shards [first, first + count) of a step, each of which has one micro-batch.
  const auto sum_of = [&](int first, int count) {
    StepControl control;
    control.micro_batches = static_cast<std::uint32_t>(count);
    std::vector<float> sums(static_cast<std::size_t>(kShards));
    for (int shard = 0; shard < count; ++shard) {
      float gradient =
          std::ldexp(static_cast<float>(core::random_unit(3, static_cast<std::uint64_t>(first + shard))),
                     3 * (first + shard) % 7);
      control.micro_batch = static_cast<std::uint32_t>(shard);
      ops::OpCall call{loops, &context, {.count = 1, .shards = count}};
      call.operands[Name::gradients] = &gradient;
      call.operands[Name::control] = &control;
      call.operands[Name::sums] = sums.data();
      call.stream = stream.get();
      ops::launch(call);
    }
    return sums.front();
  };
  EXPECT_EQ(0.5f * sum_of(0, kShards / 2) + 0.5f * sum_of(kShards / 2, kShards / 2), sum_of(0, kShards));
}

TEST(GradientsKeep, WritesTheRowOfTheSample) {
  StepControl control;
  control.micro_batch = 5;
  const Operands after = run_reference(Op::gradients_keep, {.batch = 3, .count = 2},
                                       {{Name::gradients, numbers({8, 9})},
                                        {Name::control, bytes_of(control)},
                                        {Name::kept, numbers({1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(operand_values(Op::gradients_keep, after, Name::kept, Precision::fp64),
            (Values{1, 2, 3, 4, 8, 9}));
}

TEST(GradientsNorm, SumsSquaresBySliceAndNotesWhatIsNotFinite) {
  const auto run = [](const Values& gradients, std::uint32_t overflow) {
    StepControl control;
    control.overflow = overflow;
    return run_reference(Op::gradients_norm, {.count = static_cast<std::int64_t>(gradients.size())},
                         {{Name::gradients, numbers(gradients)}, {Name::control, bytes_of(control)}});
  };
  const Operands after = run({1, 2, 3, 4, 5, -6}, 0);
  const Values parts = operand_values(Op::gradients_norm, after, Name::norm_parts, Precision::fp64);
  EXPECT_EQ(parts[0], 30);
  EXPECT_EQ(parts[1], 61);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), 0.0), ops::kSumParts - 2);
  EXPECT_EQ(control_of(after[Name::control]).overflow, 0u);
  EXPECT_EQ(control_of(run({1, kNan}, 0)[Name::control]).overflow, 1u);
  EXPECT_EQ(control_of(run({-kInfinity, 0}, 0)[Name::control]).overflow, 1u);
  EXPECT_EQ(control_of(run({1, 2}, 1)[Name::control]).overflow, 1u) << "it is cleared elsewhere";
}

TEST(GradientsNorm, LargeSquaresAreNoOverflow) {
  // In FP32 the sum is an infinity, the gradients are not.
  const ops::Variant& loops =
      *find_variant(*ops::built_in_variants(), Op::gradients_norm, core::DeviceKind::cpu, "loops");
  OpRun run(loops, core::open_device("cpu"), {.count = 2}, Precision::fp32);
  const Operands after = run.run({{Name::gradients, encode(Values{1e30, -1e30}, core::ElementType::f32)},
                                  {Name::control, bytes_of(StepControl{})}});
  EXPECT_EQ(control_of(after[Name::control]).overflow, 0u);
  EXPECT_EQ(operand_values(Op::gradients_norm, after, Name::norm_parts, Precision::fp32)[0], kInfinity);
}

/// One parameter and its state, under the letters of the rules' formulas.
struct Element {
  double p = 0;
  double first = 0;
  double second = 0;
};

void adam(const StepControl& c, double g, Element& x) {
  const double d = c.first_decay, e = c.second_decay, t = static_cast<double>(c.updates) + 1;
  x.first = d * x.first + (1 - d) * g;
  x.second = e * x.second + (1 - e) * g * g;
  x.p -= c.learning_rate / (1 - std::pow(d, t)) * x.first /
         (std::sqrt(x.second) / std::sqrt(1 - std::pow(e, t)) + c.epsilon);
}

/// The formulas as the rules' rows print them, without the header that all variants share. False for a rule that
/// has none here.
bool step_as_printed(UpdateRule rule, const StepControl& c, double g, Element& x) {
  const double rate = c.learning_rate, decay = c.weight_decay, d = c.first_decay, e = c.second_decay;
  switch (rule) {
    case UpdateRule::sgd:
      x.p -= rate * (g + decay * x.p);
      return true;
    case UpdateRule::momentum:
      x.first = d * x.first + g + decay * x.p;
      x.p -= rate * x.first;
      return true;
    case UpdateRule::nesterov:
      g += decay * x.p;
      x.first = d * x.first + g;
      x.p -= rate * (g + d * x.first);
      return true;
    case UpdateRule::adam:
      adam(c, g + decay * x.p, x);
      return true;
    case UpdateRule::adamw:
      x.p *= 1 - rate * decay;
      adam(c, g, x);
      return true;
    case UpdateRule::rmsprop:
      g += decay * x.p;
      x.first = e * x.first + (1 - e) * g * g;
      x.p -= rate * g / (std::sqrt(x.first) + c.epsilon);
      return true;
    case UpdateRule::lion: {
      x.p *= 1 - rate * decay;
      const double direction = d * x.first + (1 - d) * g;
      if (direction != 0) x.p -= std::copysign(rate, direction);
      x.first = e * x.first + (1 - e) * g;
      return true;
    }
  }
  return false;
}

/// Factor of the norm's clipping, then the clipping by value.
double clip_as_printed(const StepControl& c, double squares, double g) {
  if (c.clip_norm > 0) g *= std::min(1.0, c.clip_norm / (std::sqrt(squares) / c.loss_scale + 1e-6));
  return c.clip_value > 0 ? std::clamp(g, -double{c.clip_value}, double{c.clip_value}) : g;
}

/// The reference on random operands against the formulas. False where there are none for the rule.
bool compare_rule(UpdateRule rule, std::uint64_t seed) {
  const OpShape shape{.count = 300, .rule = rule};
  const Operands before = random_operands(Op::optimizer_update, shape, Precision::fp64, seed);
  const Operands after = run_reference(Op::optimizer_update, shape, before);
  const StepControl control = control_of(before[Name::control]);
  const auto values = [&](const Operands& operands, Name name) {
    Values list = operand_values(Op::optimizer_update, operands, name, Precision::fp64);
    if (list.empty()) list.resize(300);
    return list;
  };
  const Values gradients = values(before, Name::gradients);
  Values parameters = values(before, Name::parameters);
  Values first = values(before, Name::first_state);
  Values second = values(before, Name::second_state);
  double squares = 0;
  for (const double part : values(before, Name::norm_parts)) squares += part;
  const double loss = values(before, Name::metrics)[0];
  const bool skipped = ops::step::skips_update(control, static_cast<float>(loss));
  for (std::size_t i = 0; !skipped && i < gradients.size(); ++i) {
    Element x{parameters[i], first[i], second[i]};
    const double g = clip_as_printed(control, squares, gradients[i] / control.loss_scale);
    if (!step_as_printed(rule, control, g, x)) return false;
    parameters[i] = x.p;
    first[i] = x.first;
    second[i] = x.second;
  }
  EXPECT_LT(relative_error(parameters, values(after, Name::parameters)), 1e-12);
  EXPECT_LT(relative_error(first, values(after, Name::first_state)), 1e-12);
  EXPECT_LT(relative_error(second, values(after, Name::second_state)), 1e-12);
  return true;
}

TEST(Rules, ComputeThePrintedFormulas) {
  int compared = 0;
  for (const ops::RuleRow& row : ops::kUpdateRules) {
    SCOPED_TRACE(row.name);
    for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8})
      compared += compare_rule(row.rule, seed) ? 1 : 0;
  }
  EXPECT_EQ(compared, ops::kUpdateRuleCount * 8) << "a rule of these has lost its formula";
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
}  // namespace warpscope::verify::optimizer_test
