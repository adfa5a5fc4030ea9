// Another network in the place of the one that trains.

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/models/model.h"
#include "tests/support/async_device.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::network_test {
namespace {

using tests::run_steps;

EngineOptions classifier_options(core::Precision precision = core::Precision::fp32) {
  EngineOptions options = tests::tiny_engine_options();
  options.model = tests::tiny_classifier();
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  options.optimizer.learning_rate = 0.01f;
  options.selection = {precision, {}};
  options.test_images = 24;
  return options;
}

std::unique_ptr<Engine> make(const EngineOptions& options,
                             const std::shared_ptr<core::Device>& device = core::open_device("cpu")) {
  return std::make_unique<Engine>(options, std::make_shared<data::DataSet>(tests::labelled_data(48, 24)),
                                  device);
}

std::vector<float> values_of(const std::vector<float>& all, const models::Parameter& parameter) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(parameter.elements)};
}

/// The classifier with a batch normalization behind its convolution.
models::Model normalized() {
  models::Model model = tests::tiny_classifier();
  model.layers.insert(model.layers.begin() + 1, {models::LayerKind::batch_norm, "bn1"});
  models::fit_layers(model);
  return model;
}

/// More channels in conv1, so that conv1 and fc1 have other shapes and fc2 has the same.
models::Model wider(models::Model model) {
  model.layers[0].out_channels = 6;
  models::fit_layers(model);
  return model;
}

class EveryPrecision : public testing::TestWithParam<core::Precision> {};

INSTANTIATE_TEST_SUITE_P(Network, EveryPrecision,
                         testing::ValuesIn(plan::training_precisions(core::open_device("cpu")->info())),
                         [](const auto& which) { return std::string(core::to_string(which.param)); });

TEST_P(EveryPrecision, WhatHasTheSameNameAndShapeGoesOnAndTheRestBegins) {
  EngineOptions options = classifier_options(GetParam());
  options.model = normalized();
  const auto engine = make(options);
  run_steps(*engine, 7);
  const std::vector<float> before = engine->parameters();
  const models::ParameterLayout old_layout = models::parameter_layout(options.model);
  const models::Model other = wider(options.model);
  models::Model renamed = other;
  renamed.layers.back().name = "last";
  const CarriedOver carried = engine->set_network(renamed);
  const std::vector<float> after = engine->parameters();
  const std::vector<float> fresh = models::initial_parameters(renamed, options.seed);
  const models::ParameterLayout layout = models::parameter_layout(renamed);
  std::vector<std::string> kept;
  for (const models::Parameter& parameter : layout.parameters) {
    const auto same = std::find_if(
        old_layout.parameters.begin(), old_layout.parameters.end(),
        [&](const auto& old) { return old.name == parameter.name && old.shape == parameter.shape; });
    const bool goes_on = same != old_layout.parameters.end();
    if (goes_on) kept.push_back(parameter.name);
    EXPECT_EQ(values_of(after, parameter), goes_on ? values_of(before, *same) : values_of(fresh, parameter))
        << parameter.name;
  }
  EXPECT_EQ(kept, (std::vector<std::string>{"fc1.bias"}));
  EXPECT_EQ(carried.tensors, 1u);
  EXPECT_EQ(carried.of, layout.parameters.size());
  const auto results = run_steps(*engine, 5);
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results.front().step, 8u);
  for (const StepResult& result : results) EXPECT_TRUE(std::isfinite(result.loss)) << result.step;
}

TEST_P(EveryPrecision, RunningStatisticsOfBatchNormGoOn) {
  EngineOptions options = classifier_options(GetParam());
  options.model = normalized();
  const auto engine = make(options);
  run_steps(*engine, 7);
  const std::vector<float> before = engine->parameters();
  const models::ParameterLayout old_layout = models::parameter_layout(options.model);
  models::Model other = options.model;
  other.layers.insert(other.layers.end() - 1, {models::LayerKind::gelu, "gelu1"});
  models::fit_layers(other);
  EXPECT_EQ(engine->set_network(other).tensors, old_layout.parameters.size());
  const models::ParameterLayout layout = models::parameter_layout(other);
  const std::vector<float> after = engine->parameters();
  std::size_t kept = 0;
  for (const models::Parameter& parameter : layout.parameters) {
    EXPECT_EQ(values_of(after, parameter), values_of(before, old_layout.find(parameter.name)))
        << parameter.name;
    kept += !parameter.learned;
    if (!parameter.learned) {
      EXPECT_NE(values_of(after, parameter),
                values_of(models::initial_parameters(other, options.seed), parameter));
    }
  }
  EXPECT_EQ(kept, 2u);
}

TEST_P(EveryPrecision, TheSameNetworkAgainChangesNoWeight) {
  const auto engine = make(classifier_options(GetParam()));
  run_steps(*engine, 6);
  const std::vector<float> before = engine->parameters();
  const EngineState at = engine->state();
  const CarriedOver carried = engine->set_network(tests::tiny_classifier());
  EXPECT_EQ(carried.tensors, carried.of);
  EXPECT_EQ(engine->parameters(), before);
  const EngineState state = engine->state();
  EXPECT_EQ(state.steps, at.steps);
  EXPECT_EQ(state.position, at.position);
  EXPECT_EQ(state.epochs_done, at.epochs_done);
  EXPECT_EQ(state.control.updates, 0u);
  for (const std::vector<float>& values : state.states) {
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float value) { return value == 0; }));
  }
}

TEST_P(EveryPrecision, WhatIsRefusedLeavesTheNextStepsAsTheyWere) {
  const auto engine = make(classifier_options(GetParam())), straight = make(classifier_options(GetParam()));
  run_steps(*engine, 5);
  run_steps(*straight, 5);
  const auto refused = [&](const models::Model& network, const std::string& part) {
    try {
      engine->set_network(network);
      ADD_FAILURE() << part;
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  models::Model unfit = tests::tiny_classifier();
  unfit.layers[0].out_channels = 6;
  refused(unfit, "fc1");
  models::Model other_images = tests::tiny_classifier();
  other_images.height = other_images.width = 4;
  other_images.layers[3].in_channels = 16;
  models::fit_layers(other_images);
  refused(other_images, "tiny patches has images of 8x8x3, model tiny classifier takes 4x4x3");
  models::Model two_classes = tests::tiny_classifier();
  two_classes.classes = two_classes.layers.back().out_channels = 2;
  refused(two_classes, "tiny patches has images of class 2, model tiny classifier knows 2 classes");
  refused(tests::tiny_model(), "network tiny reconstructs images, which this training does not");
  EXPECT_EQ(tests::losses(run_steps(*engine, 8)), tests::losses(run_steps(*straight, 8)));
  EXPECT_EQ(engine->parameters(), straight->parameters());
}

TEST(Network, AVariantThatRefusesTheNewShapesIsToldAndNothingChanges) {
  // That the plans are built beside those in use is what this is about, whatever stands in the way.
  EngineOptions options = classifier_options();
  options.selection = tests::all_of("loops");
  options.selection.variants[ops::Op::gelu_forward] = "winograd";  // of no layer yet
  const auto engine = make(options), straight = make(options);
  run_steps(*engine, 4);
  run_steps(*straight, 4);
  models::Model other = tests::tiny_classifier();
  other.layers[1] = {models::LayerKind::gelu, "gelu1"};
  try {
    engine->set_network(other);
    ADD_FAILURE() << "gelu1 runs";
  } catch (const core::BadInput& error) {
    EXPECT_TRUE(
        std::string(error.what()).starts_with("gelu.forward=winograd cannot run in gelu1: there is no such"))
        << error.what();
  }
  EXPECT_EQ(tests::losses(run_steps(*engine, 6)), tests::losses(run_steps(*straight, 6)));
}

TEST(Network, WithoutMemoryNothingChanges) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  EngineOptions options = classifier_options();
  options.batch = 24;
  const auto engine = make(options, device), straight = make(options);
  run_steps(*engine, 4);
  run_steps(*straight, 4);
  const models::Model large = wider(tests::tiny_classifier());
  const std::size_t parameters = models::parameter_layout(large).elements * sizeof(float);
  for (const std::size_t largest : {parameters - 1, parameters}) {  // no weights; weights, but no plan
    device->largest = largest;
    EXPECT_THROW(engine->set_network(large), core::OutOfMemory) << largest;
    device->largest = SIZE_MAX;
    EXPECT_EQ(tests::losses(run_steps(*engine, 3)), tests::losses(run_steps(*straight, 3)));
  }
  engine->set_network(large);
  for (const StepResult& result : run_steps(*engine, 3)) EXPECT_TRUE(std::isfinite(result.loss));
}

TEST(Network, WhoseParametersDoNotFitIsRefusedBeforeAnythingIsMade) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  const auto engine = make(classifier_options(), device), straight = make(classifier_options());
  const models::Model large = wider(tests::tiny_classifier());
  const std::size_t parameters = models::parameter_layout(large).elements;
  const std::size_t bytes = device->memory().allocated_bytes;
  // Weights, gradients, initial weights and the state of the optimizer.
  const int copies = 3 + ops::states_of(classifier_options().optimizer.rule);
  device->free = copies * parameters * sizeof(float) - 1;
  try {
    engine->set_network(large);
    FAIL() << "taken";
  } catch (const core::OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with(fmt::format("network {} has {} parameters, which with gradients", large.name,
                                             files::grouped(static_cast<std::int64_t>(parameters)))))
        << text;
    EXPECT_NE(text.find(" MiB of memory free"), std::string::npos) << text;
  }
  EXPECT_EQ(device->memory().allocated_bytes, bytes);
  EXPECT_EQ(tests::losses(run_steps(*engine, 3)), tests::losses(run_steps(*straight, 3)));
  ++device->free;
  EXPECT_NO_THROW(engine->set_network(large));
}

TEST(Network, ReconstructionsAndEvaluationsAreOfTheNewOne) {
  EngineOptions options = tests::tiny_engine_options();
  options.shown_images = 4;
  options.selection = {};
  const auto data = std::make_shared<data::DataSet>(tests::tiny_data());
  Engine engine(options, data, core::open_device("cpu"));
  run_steps(engine, 5);
  models::Model other = tests::tiny_model();
  other.layers[3].out_channels = 9;
  models::fit_layers(other);
  engine.set_network(other);
  run_steps(engine, 2);
  EngineOptions fresh = options;
  fresh.model = other;
  Engine judge(fresh, data, core::open_device("cpu"));
  EngineState state = judge.state();
  state.parameters = engine.parameters();
  judge.restore(state);
  const auto evaluation_of = [](Engine& of) {
    of.evaluator().start(Split::test);
    while (!of.evaluator().enqueue_batch()) {
    }
    of.synchronize();
    return of.evaluator().collect();
  };
  EXPECT_EQ(evaluation_of(engine)->image_losses, evaluation_of(judge)->image_losses);
  const auto pictures_of = [](Engine& of) {
    EXPECT_TRUE(of.pictures().publish(true));
    of.synchronize();
    return of.pictures().take_kept()->reconstruction;
  };
  EXPECT_EQ(pictures_of(engine), pictures_of(judge));
}

TEST(Network, AResetBeginsWithTheFirstWeightsOfTheNewOne) {
  const auto engine = make(classifier_options());
  run_steps(*engine, 5);
  const models::Model other = wider(tests::tiny_classifier());
  engine->set_network(other);
  run_steps(*engine, 3);
  engine->reset();
  EngineOptions options = classifier_options();
  options.model = other;
  const auto fresh = make(options);
  EXPECT_EQ(engine->parameters(), fresh->parameters());
  EXPECT_EQ(tests::losses(run_steps(*engine, 9)), tests::losses(run_steps(*fresh, 9)));
}

TEST(Network, WeightsOfBeforeDoNotComeBack) {
  const auto engine = make(classifier_options());
  run_steps(*engine, 3);
  engine->remember();
  EXPECT_TRUE(engine->rollback().remembers(3));
  engine->set_network(wider(tests::tiny_classifier()));
  EXPECT_FALSE(engine->rollback().remembers(100));
  EXPECT_FALSE(engine->recall(100));
  engine->remember();
  const std::vector<float> kept = engine->parameters();
  run_steps(*engine, 2);
  EXPECT_TRUE(engine->recall(3));
  EXPECT_EQ(engine->parameters(), kept);
}

TEST(Network, AHeadStaysAndIsOfTheNewLatents) {
  EngineOptions options = tests::tiny_engine_options();
  options.optimizer.joint = 0.5f;
  options.selection = {};
  const auto engine = make(options);
  run_steps(*engine, 4);
  const models::ParameterLayout old_layout = models::parameter_layout(engine->model());
  const std::vector<float> before = engine->parameters();
  models::Model other = tests::tiny_model();
  other.layers[3].out_channels = 9;  // behind the latents
  models::fit_layers(other);
  engine->set_network(other);
  EXPECT_EQ(engine->model().head_classes, 3);
  const models::ParameterLayout layout = models::parameter_layout(engine->model());
  EXPECT_EQ(values_of(engine->parameters(), layout.find("head.weight")),
            values_of(before, old_layout.find("head.weight")));
  for (const StepResult& result : run_steps(*engine, 4)) {
    EXPECT_TRUE(result.head);
    EXPECT_TRUE(std::isfinite(result.head_loss));
  }
  OptimizerSettings without = options.optimizer;
  without.joint = 0;
  engine->set_optimizer(without);
  engine->set_network(tests::tiny_model());
  without.joint = 1;
  engine->set_optimizer(without);
  EXPECT_TRUE(run_steps(*engine, 2).back().head);
}

TEST(Network, OnAStreamThatRunsLaterTheSameStepsFollow) {
  const auto device = std::make_shared<tests::AsyncDevice>(std::chrono::microseconds(200));
  const auto later = make(classifier_options(), device), now = make(classifier_options());
  for (const auto& engine : {later.get(), now.get()}) {
    for (int i = 0; i < 3; ++i) engine->step(false);
    engine->set_network(wider(tests::tiny_classifier()));
    for (int i = 0; i < 3; ++i) engine->step(true);
    engine->set_network(tests::tiny_classifier());
  }
  EXPECT_EQ(tests::losses(run_steps(*later, 4)), tests::losses(run_steps(*now, 4)));
  EXPECT_EQ(later->parameters(), now->parameters());
}

}  // namespace
}  // namespace warpscope::training::network_test
