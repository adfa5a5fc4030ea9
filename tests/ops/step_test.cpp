// The bookkeeping at the end of a step and between its micro-batches, worked out by hand.

#include "gpu/ops/step/step.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "gpu/verify/op_check.h"

namespace warpscope::verify::step_test {
namespace {

using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::step::StepControl;
using ops::step::StepRecord;
using Values = std::vector<double>;

Bytes numbers(const Values& values) {
  return encode(values, core::ElementType::f64);
}

template <class T>
Bytes bytes_of(const std::vector<T>& data) {
  Bytes bytes(data.size() * sizeof(T));
  std::memcpy(bytes.data(), data.data(), bytes.size());
  return bytes;
}

template <class T>
T item(const Bytes& bytes, std::size_t index = 0) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Parts of which each statistic has a few that are not 0, wherever they are.
Bytes statistics(double gradient, double update, double parameter) {
  Values parts(ops::step::kStatistics * ops::kSumParts);
  const Values sums{gradient, update, parameter};
  for (std::size_t k = 0; k < sums.size(); ++k) {
    parts[k * ops::kSumParts] = sums[k] / 2;
    parts[k * ops::kSumParts + 100] = sums[k] / 4;
    parts[(k + 1) * ops::kSumParts - 1] = sums[k] / 4;
  }
  return numbers(parts);
}

Operands record(const OpShape& shape, const StepControl& control, const Bytes& sums = statistics(0, 0, 0),
                const Values& metrics = {1.5, 0.25, 2.25}) {
  return run_reference(
      Op::step_record, shape,
      {{Name::metrics, numbers(metrics)},
       {Name::statistics, sums},
       {Name::control, bytes_of(std::vector{control})},
       {Name::ring, bytes_of(std::vector<StepRecord>(static_cast<std::size_t>(shape.count)))}});
}

TEST(StepRecord, NotesEachStepAndStartsTheNextEpoch) {
  const OpShape shape{.batch = 4, .count = 3};
  const StepControl control{.step = 4, .position = 4, .epoch_size = 8, .learning_rate = 0.25f};
  Operands state = record(shape, control);
  const auto first = item<StepRecord>(state[Name::ring], 1);
  EXPECT_EQ(first.step, 4u);
  EXPECT_EQ(first.loss, 1.5f);
  EXPECT_EQ(first.accuracy, 0.25f);
  EXPECT_EQ(first.head_loss, 2.25f);
  EXPECT_EQ(first.learning_rate, 0.25f);
  EXPECT_EQ(item<StepControl>(state[Name::control]).step, 5u);
  EXPECT_EQ(item<StepControl>(state[Name::control]).position, 0u);
  EXPECT_EQ(item<StepControl>(state[Name::control]).updates, 1u);

  state = run_reference(Op::step_record, shape, state);
  EXPECT_EQ(item<StepRecord>(state[Name::ring], 2).step, 5u);
  EXPECT_GE(item<StepRecord>(state[Name::ring], 2).nanoseconds, first.nanoseconds);
  EXPECT_EQ(item<StepRecord>(state[Name::ring], 0).nanoseconds, 0u);
  EXPECT_EQ(item<StepControl>(state[Name::control]).position, 4u);
}

TEST(StepRecord, TakesNormAndRatioFromAllPartsOfTheStatistics) {
  const OpShape shape{.batch = 1, .count = 1};
  auto noted = item<StepRecord>(record(shape, {.epoch_size = 1}, statistics(9, 4, 64))[Name::ring]);
  EXPECT_EQ(noted.gradient_norm, 3.0f);
  EXPECT_EQ(noted.update_ratio, 0.25f);
  noted = item<StepRecord>(record(shape, {.epoch_size = 1}, statistics(9, 4, 0))[Name::ring]);
  EXPECT_EQ(noted.update_ratio, 0.0f) << "of parameters that are all 0";
}

TEST(StepRecord, NotesTheLossScaleAndChangesIt) {
  const OpShape shape{.batch = 4, .count = 3};
  StepControl control{.epoch_size = 8, .loss_scale = 16, .good_steps = 1, .growth_interval = 2};
  const auto next = [&] {
    const Operands after = record(shape, control);
    const auto made = item<StepRecord>(after[Name::ring], control.step % 3);
    control = item<StepControl>(after[Name::control]);
    return made;
  };
  EXPECT_EQ(next().loss_scale, 16);
  EXPECT_EQ(control.loss_scale, 32);
  EXPECT_EQ(control.good_steps, 0u);
  control.overflow = 1;
  const auto skipped = next();
  EXPECT_EQ(skipped.skipped, 1u);
  EXPECT_EQ(skipped.loss_scale, 32);
  EXPECT_EQ(control.loss_scale, 16);
  EXPECT_EQ(control.overflow, 0u);
  EXPECT_EQ(control.updates, 1u);
}

TEST(StepRecord, GoesOnBehindTheImagesOfAllRanks) {
  StepControl control{.position = 36, .epoch_size = 48, .others = 8};  // the last of three ranks
  control = item<StepControl>(record({.batch = 4, .count = 1}, control)[Name::control]);
  EXPECT_EQ(control.position, 0u) << "of an epoch of four steps of twelve images";
}

TEST(MicroBatchRecord, AveragesTheMetricsAndLeavesThePositionToTheStepsEnd) {
  const OpShape shape{.batch = 4};
  StepControl control{.step = 7, .position = 8, .epoch_size = 16, .micro_batches = 2};
  Operands state =
      run_reference(Op::micro_batch_record, shape,
                    {{Name::metrics, numbers({3, 0.5, 2})},
                     {Name::control, bytes_of(std::vector{control})},
                     {Name::sums, numbers({1000, std::numeric_limits<double>::quiet_NaN(), 1})}});
  EXPECT_EQ(decode(state[Name::sums], core::ElementType::f64), (Values{1.5, 0.25, 1}))
      << "the first one starts from 0";
  state[Name::metrics] = numbers({1, 1, 4});
  state = run_reference(Op::micro_batch_record, shape, state);
  EXPECT_EQ(decode(state[Name::sums], core::ElementType::f64), (Values{2, 0.75, 3}));
  control = item<StepControl>(state[Name::control]);
  EXPECT_EQ(control.position, 0u);
  EXPECT_EQ(control.micro_batch, 2u);
  EXPECT_EQ(control.step, 7u);

  control = item<StepControl>(record({.batch = 0, .count = 1}, control)[Name::control]);
  EXPECT_EQ(control.position, 0u);
  EXPECT_EQ(control.micro_batch, 0u);
  EXPECT_EQ(control.step, 8u);
}

}  // namespace
}  // namespace warpscope::verify::step_test
