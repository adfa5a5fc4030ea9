#include "gpu/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/async_device.h"
#include "tests/support/double_network.h"
#include "tests/support/plan_memory.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::plan::plan_test {
namespace {

using core::Precision;
using tests::all_of;
using tests::PlanMemory;

/// ||a - b|| / ||b||
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

/// The parts of a buffer that belong to one parameter.
std::vector<float> part(const std::vector<float>& values, const models::Parameter& parameter) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
  return {first, first + static_cast<std::ptrdiff_t>(parameter.elements)};
}

/// One training step of five images from fresh weights.
struct OneStep {
  PlanMemory memory;
  explicit OneStep(const std::string& variant) : OneStep(all_of(variant)) {}
  explicit OneStep(const Selection& selection) {
    memory.control.position = 2;
    Plan plan = memory.make(Purpose::training, selection, 5);
    plan.launch(*memory.stream);
  }
};

// FP32 rounds each of the chain's some ten layers to 2^-24 = 6e-8, and sums of up to 320 products (5 images
// of 64 pixels) to some 20 times that (ops::tolerance): 1e-5 leaves a factor of ten.
TEST(Plan, ReferenceLoopsAndOnednnAgree) {
  const OneStep reference("reference");
  for (const char* variant : {"loops", "onednn"}) {
    SCOPED_TRACE(variant);
    const OneStep other(variant);
    EXPECT_NEAR(other.memory.ring[0].loss, reference.memory.ring[0].loss,
                1e-5 * reference.memory.ring[0].loss);
    for (const models::Parameter& parameter : reference.memory.layout.parameters) {
      EXPECT_LT(
          distance(part(other.memory.gradients, parameter), part(reference.memory.gradients, parameter)),
          1e-5)
          << parameter.name;
      EXPECT_LT(
          distance(part(other.memory.parameters, parameter), part(reference.memory.parameters, parameter)),
          1e-5)
          << parameter.name;
    }
  }
}

// The loss in double precision, moved by 1e-7 each way: the difference's own error is about 1e-9, and with
// larger moves some activations would change their sign. The plan computes in double but stores FP32 between
// ops, so 1e-5 of the tensor's largest gradient is allowed.
void expect_finite_differences(const OneStep& step) {
  const tests::DoubleNetwork network(step.memory.model);
  std::vector<std::vector<double>> images;
  for (std::int64_t i = 2; i < 7; ++i) images.push_back(tests::image_of(step.memory.images, i));
  std::vector<double> moved(step.memory.initial.begin(), step.memory.initial.end());
  EXPECT_NEAR(step.memory.ring[0].loss, network.loss(moved, images), 1e-6);

  constexpr double kMove = 1e-7;
  for (const models::Parameter& parameter : step.memory.layout.parameters) {
    float largest = 0;
    for (const float gradient : part(step.memory.gradients, parameter))
      largest = std::max(largest, std::abs(gradient));
    EXPECT_GT(largest, 1e-4f) << parameter.name;
    const std::size_t stride = std::max<std::size_t>(1, parameter.elements / 19);
    for (std::size_t i = 0; i < parameter.elements; i += stride) {
      double& value = moved[parameter.offset + i];
      const double old = value;
      value = old + kMove;
      const double above = network.loss(moved, images);
      value = old - kMove;
      const double below = network.loss(moved, images);
      value = old;
      EXPECT_NEAR(step.memory.gradients[parameter.offset + i], (above - below) / (2 * kMove), 1e-5 * largest)
          << parameter.name << " element " << i;
    }
  }
}

TEST(Plan, GradientsAreThoseOfFiniteDifferences) {
  expect_finite_differences(OneStep("reference"));
}

TEST(Plan, WhatIsCoveredGivesTheGradientsOfTheOpsOneByOne) {
  const OneStep covered(Selection{});
  const OneStep single("reference");
  EXPECT_NEAR(covered.memory.ring[0].loss, single.memory.ring[0].loss, 1e-5 * single.memory.ring[0].loss);
  for (const models::Parameter& parameter : single.memory.layout.parameters) {
    EXPECT_LT(distance(part(covered.memory.gradients, parameter), part(single.memory.gradients, parameter)),
              1e-5)
        << parameter.name;
  }
}

TEST(Plan, TrainingMovesWeightsNotesTheLossAndAdvances) {
  const OneStep step("loops");
  for (std::size_t i = 0; i < step.memory.initial.size(); ++i)
    EXPECT_FLOAT_EQ(step.memory.parameters[i], step.memory.initial[i] - 0.1f * step.memory.gradients[i]);
  EXPECT_EQ(step.memory.control.step, 1u);
  EXPECT_EQ(step.memory.control.position, 7u);
  EXPECT_EQ(step.memory.ring[0].step, 0u);
  EXPECT_EQ(step.memory.ring[0].learning_rate, 0.1f);
  EXPECT_GT(step.memory.ring[0].nanoseconds, 0u);
}

TEST(Plan, InferenceLeavesPredictionTargetAndErrors) {
  for (const char* variant : {"reference", "loops", "onednn"}) {
    SCOPED_TRACE(variant);
    PlanMemory memory;
    memory.control.position = 4;
    const std::vector<float> before = memory.parameters;
    Plan plan = memory.make(Purpose::inference, all_of(variant), 3);
    plan.launch(*memory.stream);
    const std::vector<float> prediction = PlanMemory::floats(plan.prediction(), 3 * 192);
    const std::vector<float> target = PlanMemory::floats(plan.target(), 3 * 192);
    const tests::DoubleNetwork network(memory.model);
    const std::vector<double> parameters(before.begin(), before.end());
    for (std::size_t n = 0; n < 3; ++n) {
      const std::vector<double> image = tests::image_of(memory.images, static_cast<std::int64_t>(4 + n));
      const std::vector<double> output = network.reconstruct(parameters, image);
      for (std::size_t i = 0; i < 192; ++i) {
        EXPECT_FLOAT_EQ(target[n * 192 + i], static_cast<float>(image[i]));
        EXPECT_NEAR(prediction[n * 192 + i], output[i], 1e-5);
      }
      EXPECT_NEAR(plan.image_errors()[n], network.error(parameters, image), 1e-6);
    }
    EXPECT_EQ(memory.parameters, before);
    EXPECT_EQ(memory.control.step, 0u);
    EXPECT_EQ(memory.control.position, 4u);
  }
}

TEST(Plan, InferenceResultsOutliveOtherPlans) {
  PlanMemory memory;
  Plan shown = memory.make(Purpose::inference, all_of("loops"), 3);
  shown.launch(*memory.stream);
  const std::vector<float> prediction = PlanMemory::floats(shown.prediction(), 3 * 192);
  const std::vector<float> errors = PlanMemory::floats(shown.image_errors(), 3);
  Plan training = memory.make(Purpose::training, all_of("loops"), 5);
  Plan other = memory.make(Purpose::inference, all_of("reference"), 3);
  for (int i = 0; i < 3; ++i) {
    training.launch(*memory.stream);
    other.launch(*memory.stream);
  }
  EXPECT_EQ(PlanMemory::floats(shown.prediction(), 3 * 192), prediction);
  EXPECT_EQ(PlanMemory::floats(shown.image_errors(), 3), errors);
  EXPECT_NE(PlanMemory::floats(other.prediction(), 3 * 192), prediction) << "the weights have moved on";
}

TEST(Plan, SameInputGivesTheSameBits) {
  for (const char* variant : {"reference", "loops"}) {
    const OneStep one(variant);
    const OneStep two(variant);
    EXPECT_EQ(one.memory.gradients, two.memory.gradients) << variant;
    EXPECT_EQ(one.memory.parameters, two.memory.parameters) << variant;
  }
}

TEST(Plan, TimedLaunchGivesAPositiveTimeForEachNode) {
  PlanMemory timed;
  PlanMemory plain;
  Plan plan = timed.make(Purpose::training, all_of("loops"), 5);
  Plan untimed = plain.make(Purpose::training, all_of("loops"), 5);
  EXPECT_FALSE(plan.take_timings().has_value()) << "nothing was timed yet";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(plan.launch_timed(*timed.stream));
    EXPECT_FALSE(plan.launch_timed(*timed.stream)) << "the last times have not been taken";
    untimed.launch(*plain.stream);
    const auto times = plan.take_timings();
    ASSERT_TRUE(times.has_value());
    ASSERT_EQ(times->size(), plan.nodes().size());
    for (std::size_t n = 0; n < times->size(); ++n)
      EXPECT_GT((*times)[n], 0.0) << ops::to_string(plan.nodes()[n].op);
    EXPECT_FALSE(plan.take_timings().has_value()) << "taken twice";
  }
  EXPECT_EQ(timed.parameters, plain.parameters) << "timing changes nothing";
}

TEST(Plan, TakingTimesNeverWaits) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  PlanMemory memory(device);
  Plan plan = memory.make(Purpose::training, all_of("loops"), 5);
  {
    const auto held = device->hold();  // whoever waited for the step would wait for ever
    ASSERT_TRUE(plan.launch_timed(*memory.stream));
    EXPECT_FALSE(plan.take_timings().has_value());
    EXPECT_FALSE(plan.launch_timed(*memory.stream));
  }
  memory.stream->synchronize();
  const auto times = plan.take_timings();
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->size(), plan.nodes().size());
}

/// What the plan says to a selection it cannot run.
std::string refusal(const Selection& selection) {
  PlanMemory memory;
  try {
    memory.make(Purpose::training, selection, 5);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, RefusesAPrecisionThatTheDeviceLacks) {
  Selection selection = all_of("loops");
  selection.precision = Precision::fp16;
  EXPECT_EQ(
      refusal(selection),
      "weights.cast=loops cannot run: not in fp16; in fp32, bf16; no variant of it runs in fp16 on cpu; "
      "precisions that do: fp32, bf16");
  EXPECT_EQ(refusal(Selection{Precision::fp16, {}}),
            "weights.cast: no variant of it runs in fp16 on cpu; precisions that do: fp32, bf16");
}

TEST(Plan, RefusesThePrecisionOfTheReferenceAlone) {
  Selection selection = all_of("reference");
  selection.precision = Precision::fp64;
  EXPECT_EQ(refusal(selection), "training in fp64 is not possible; valid: fp32, tf32, fp16, bf16");
}

TEST(Plan, RefusesAnOperandWithoutMemory) {
  const auto missing = [](const auto& take_away) -> std::string {
    PlanMemory memory(core::open_device("cpu"), tests::tiny_classifier());
    Bindings bindings = memory.bindings();
    take_away(bindings);
    try {
      const Plan plan(memory.model, Purpose::training, {}, 3, memory.device, *memory.stream, bindings);
    } catch (const core::Error& error) {
      const std::string text = error.what();
      return text.substr(0, text.find(','));
    }
    return "nothing";
  };
  EXPECT_EQ(missing([](Bindings&) {}), "nothing");
  EXPECT_EQ(missing([](Bindings& b) { b.images = nullptr; }), "no memory is bound for images");
  EXPECT_EQ(missing([](Bindings& b) { b.labels = nullptr; }), "no memory is bound for all_labels");
  EXPECT_EQ(missing([](Bindings& b) { b.order = nullptr; }), "no memory is bound for order");
  EXPECT_EQ(missing([](Bindings& b) { b.control = nullptr; }), "no memory is bound for control");
  EXPECT_EQ(missing([](Bindings& b) { b.ring = nullptr; }), "no memory is bound for ring");
  EXPECT_EQ(missing([](Bindings& b) { b.parameters = nullptr; }), "no memory is bound for conv1.weight");
  EXPECT_EQ(missing([](Bindings& b) { b.gradients = nullptr; }),
            "no memory is bound for fc2.weight.gradient");
}

TEST(Plan, RefusesUnknownVariantsWithAlternatives) {
  Selection selection = all_of("loops");
  selection.variants[ops::Op::conv2d_backward_input] = "winograd";
  EXPECT_EQ(refusal(selection),
            "conv2d.backward_input=winograd cannot run in conv3: there is no such variant on cpu; valid "
            "here: reference, loops, onednn");
}

TEST(Plan, SaysThatTheBatchDoesNotFit) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  PlanMemory memory(device);
  device->largest = 10'000;
  try {
    memory.make(Purpose::training, all_of("loops"), 12);
    FAIL() << "made";
  } catch (const core::OutOfMemory& error) {
    EXPECT_STREQ(error.what(), "batch 12 does not fit: the device is full; choose a smaller batch");
  }
}

TEST(Plan, AnOpThatIsNotChosenRunsByTheBestVariant) {
  Selection selection = all_of("loops");
  selection.variants.erase(ops::Op::relu_forward);
  PlanMemory memory;
  const Plan plan = memory.make(Purpose::training, selection, 3);
  const auto relu = std::find_if(plan.nodes().begin(), plan.nodes().end(),
                                 [](const PlanNode& node) { return node.op == ops::Op::relu_forward; });
  ASSERT_NE(relu, plan.nodes().end());
  EXPECT_EQ(relu->variant->name, "onednn");
}

}  // namespace
}  // namespace warpscope::plan::plan_test
