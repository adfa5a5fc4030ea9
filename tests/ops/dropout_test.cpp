// The masks of dropout: how many elements they drop, and what they depend on.

#include "gpu/ops/dropout/dropout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "gpu/ops/step/step.h"
#include "gpu/verify/op_check.h"

namespace warpscope::verify::dropout_test {
namespace {

using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::step::StepControl;
using Values = std::vector<double>;

OpShape layer(std::int64_t batch, float rate, std::uint32_t salt = 0) {
  OpShape shape{.batch = batch, .height = 8, .width = 16, .in_channels = 32};
  shape.dropout_rate = rate;
  shape.salt = salt;
  return shape;
}

std::size_t elements(const OpShape& shape) {
  return static_cast<std::size_t>(shape.batch * shape.height * shape.width * shape.in_channels);
}

Values dropped(const OpShape& shape, const StepControl& control, const Values& x) {
  Bytes bytes(sizeof(control));
  std::memcpy(bytes.data(), &control, sizeof(control));
  const Operands before{{Name::input, encode(x, core::ElementType::f64)}, {Name::control, bytes}};
  return operand_values(Op::dropout_forward, run_reference(Op::dropout_forward, shape, before), Name::output,
                        core::Precision::fp64);
}

/// 1 / (1 - rate) where an element stays, 0 where it is dropped.
Values mask(const OpShape& shape, const StepControl& control) {
  return dropped(shape, control, Values(elements(shape), 1.0));
}

double share_of_zeros(const Values& values) {
  return static_cast<double>(std::count(values.begin(), values.end(), 0.0)) /
         static_cast<double>(values.size());
}

/// The deviation of a share of `count` independent events of this probability.
double deviation(double probability, std::size_t count) {
  return std::sqrt(probability * (1 - probability) / static_cast<double>(count));
}

/// The share of elements that one of the two drops and the other keeps.
double difference(const Values& one, const Values& other) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) different += one[i] != other[i] ? 1 : 0;
  return static_cast<double>(different) / static_cast<double>(one.size());
}

TEST(Dropout, DropsTheShareThatTheRateSays) {
  for (const float rate : {0.05f, 0.1f, 0.25f, 0.5f, 0.9f}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const OpShape shape = layer(16, rate);
      const double share = share_of_zeros(mask(shape, {.seed = seed}));
      EXPECT_NEAR(share, rate, 5 * deviation(rate, elements(shape))) << "seed " << seed;
    }
  }
}

TEST(Dropout, KeepsTheMean) {
  const OpShape shape = layer(16, 0.3f);
  const Values y = mask(shape, {.step = 7, .seed = 5});
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  EXPECT_NEAR(mean, 1.0, 5 * deviation(0.3, elements(shape)) / 0.7);
}

TEST(Dropout, OfRateZeroIsTheIdentity) {
  const OpShape shape = layer(1, 0.0f);
  EXPECT_EQ(mask(shape, {.seed = 9}), Values(elements(shape), 1.0));
}

TEST(Dropout, NeighboursAreDroppedIndependentlyOfEachOther) {
  const OpShape shape = layer(16, 0.5f);
  const Values y = mask(shape, {.step = 3, .seed = 4});
  for (const std::size_t distance : {1, 2, 32, 512}) {
    std::size_t alike = 0;
    for (std::size_t i = distance; i < y.size(); ++i) alike += y[i] == y[i - distance] ? 1 : 0;
    const double share = static_cast<double>(alike) / static_cast<double>(y.size() - distance);
    EXPECT_NEAR(share, 0.5, 5 * deviation(0.5, y.size() - distance)) << "distance " << distance;
  }
}

TEST(Dropout, DrawsAnotherMaskForEachSeedStepMicroBatchAndLayer) {
  const OpShape shape = layer(4, 0.5f);
  const StepControl control{.step = 100, .seed = 1};
  const Values first = mask(shape, control);
  EXPECT_EQ(mask(shape, control), first) << "the same step again";
  const double allowed = 5 * deviation(0.5, elements(shape));
  StepControl other = control;
  other.seed = 2;
  EXPECT_NEAR(difference(mask(shape, other), first), 0.5, allowed) << "seed";
  other = control;
  other.step = 101;
  EXPECT_NEAR(difference(mask(shape, other), first), 0.5, allowed) << "step";
  other = control;
  other.micro_batch = 1;
  EXPECT_NEAR(difference(mask(shape, other), first), 0.5, allowed) << "micro-batch";
  EXPECT_NEAR(difference(mask(layer(4, 0.5f, 1), control), first), 0.5, allowed) << "layer";
}

TEST(Dropout, DependsOnNothingElseInTheControlBlock) {
  const OpShape shape = layer(2, 0.5f, 3);
  StepControl control{.step = 100, .seed = 1};
  const Values first = mask(shape, control);
  control.position = 40;
  control.learning_rate = 0.5f;
  control.loss_scale = 1024;
  control.updates = 17;
  EXPECT_EQ(mask(shape, control), first);
}

TEST(Dropout, HalvesOfABatchAsMicroBatchesDrawMasksOfTheirOwn) {
  const StepControl control{.step = 6, .seed = 1};
  const Values whole = mask(layer(4, 0.5f), control);
  const OpShape half = layer(2, 0.5f);
  StepControl second = control;
  second.micro_batch = 1;
  const Values halves[] = {mask(half, control), mask(half, second)};
  const double allowed = 5 * deviation(0.5, elements(half));
  EXPECT_NEAR(difference(halves[0], halves[1]), 0.5, allowed);
  EXPECT_EQ(halves[0], Values(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(elements(half))))
      << "elements are counted from the start of the micro-batch";
}

TEST(Dropout, PassesGradientsWhereTheValueWasKept) {
  const OpShape shape = layer(1, 0.5f);
  const StepControl control{.step = 11, .seed = 3};
  Bytes bytes(sizeof(control));
  std::memcpy(bytes.data(), &control, sizeof(control));
  const Operands before{{Name::output_gradient, encode(Values(elements(shape), 1.0), core::ElementType::f64)},
                        {Name::control, bytes}};
  const Operands after = run_reference(Op::dropout_backward, shape, before);
  EXPECT_EQ(operand_values(Op::dropout_backward, after, Name::input_gradient, core::Precision::fp64),
            mask(shape, control));
}

TEST(Dropout, HidesNothingThatIsNotFinite) {
  const OpShape shape = layer(1, 0.9f);
  const Values y =
      dropped(shape, {.seed = 2}, Values(elements(shape), std::numeric_limits<double>::quiet_NaN()));
  for (const double each : y) ASSERT_TRUE(std::isnan(each));
}

TEST(Dropout, RefusesRatesThatLeaveNothing) {
  EXPECT_EQ(ops::dropout::refuses(layer(1, 0.0f)), "");
  EXPECT_EQ(ops::dropout::refuses(layer(1, 0.99f)), "");
  for (const float rate : {1.0f, -0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_NE(ops::dropout::refuses(layer(1, rate)).find("at least 0 and less than 1"), std::string::npos)
        << rate;
  }
}

}  // namespace
}  // namespace warpscope::verify::dropout_test
