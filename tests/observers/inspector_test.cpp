// What an inspection brings is what the network computes: against a model in double precision.

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "gpu/observers/observer_table.h"
#include "gpu/plan/plan.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::inspector_test {
namespace {

using tests::run_steps;

struct Case {
  std::string name;
  tests::Streams streams = tests::Streams::at_once;
  bool classifies = false;
};

ObservationRequest of_image(std::int64_t image, std::size_t parameters_of = 0) {
  ObservationRequest request;
  request.inspected_image = image;
  request.inspected_parameters = parameters_of;
  return request;
}

std::vector<float> part_of(const std::vector<float>& values, const models::Parameter& tensor) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(tensor.elements)};
}

/// The inspection that is under way.
Inspection wait_for(Observer& inspector) {
  Observations seen;
  while (!inspector.take(seen)) std::this_thread::yield();
  return *seen.inspection;
}

/// On streams of every kind.
class Inspections : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  EngineOptions options() const {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam().streams);
    if (GetParam().classifies) options.model = tests::tiny_classifier();
    return options;
  }
  std::unique_ptr<Engine> make(const EngineOptions& options) const {
    return std::make_unique<Engine>(options, data, device);
  }
  std::shared_ptr<data::DataSet> make_data() const {
    if (GetParam().classifies) return std::make_shared<data::DataSet>(tests::labelled_data(40, 12));
    return std::make_shared<data::DataSet>(tests::tiny_data());
  }
  static Inspection look(Engine& engine, Observer& inspector, std::int64_t image,
                         std::size_t parameters_of = 0) {
    inspector.ask(of_image(image, parameters_of));
    EXPECT_TRUE(inspector.start(engine.scene()));
    return wait_for(inspector);
  }

  const std::shared_ptr<core::Device> device = tests::device_of(GetParam().streams);
  const std::shared_ptr<data::DataSet> data = make_data();
};

INSTANTIATE_TEST_SUITE_P(Streams, Inspections,
                         testing::Values(Case{"at_once"}, Case{"behind", tests::Streams::behind},
                                         Case{"of_classes", tests::Streams::behind, true},
                                         Case{"cuda", tests::Streams::cuda},
                                         Case{"cuda_of_classes", tests::Streams::cuda, true}),
                         [](const auto& which) { return which.param.name; });

TEST_P(Inspections, HoldTheOutputOfEveryLayerAndTheWeightsThatMadeIt) {
  const auto engine = make(options());
  run_steps(*engine, 4);
  const std::unique_ptr<Observer> inspector = make_inspector();
  const Inspection found = look(*engine, *inspector, 7);
  EXPECT_EQ(found.step, 4u);
  EXPECT_EQ(found.image, 7);
  EXPECT_TRUE(found.parameters.empty()) << "nobody asked for them";
  const models::Model& model = engine->model();
  const std::vector<double> image = tests::image_of(data->test, 7);
  const std::vector<float> all = engine->parameters();
  const std::vector<double> parameters(all.begin(), all.end());
  const auto wanted = tests::DoubleNetwork(model).outputs(parameters, image);
  ASSERT_EQ(found.outputs.size(), model.layers.size() + 1);
  for (std::size_t n = 0; n < found.outputs.size(); ++n) {
    const LayerOutput& output = found.outputs[n];
    SCOPED_TRACE(output.layer);
    const std::vector<double>& values = n == 0 ? image : wanted[n - 1];
    EXPECT_EQ(output.layer, n == 0 ? "input" : model.layers[n - 1].name);
    ASSERT_EQ(output.values.size(), values.size());
    EXPECT_EQ(static_cast<std::size_t>(output.height * output.width * output.channels), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(output.values[i], values[i], 2e-5) << i;
  }
}

TEST_P(Inspections, HoldTheParametersOfTheLayerThatIsAskedFor) {
  const auto engine = make(options());
  run_steps(*engine, 2);
  const models::ParameterLayout layout = models::parameter_layout(engine->model());
  const std::vector<float> parameters = engine->parameters(), gradients = engine->gradients();
  const std::unique_ptr<Observer> inspector = make_inspector();
  for (const models::Parameter& tensor : layout.parameters) {
    SCOPED_TRACE(tensor.name);
    const Inspection found = look(*engine, *inspector, 0, tensor.layer + 1);
    ASSERT_TRUE(found.has(tensor));
    EXPECT_LT(found.parameters.size(), layout.elements);
    EXPECT_EQ(std::vector(found.parameter(tensor), found.parameter(tensor) + tensor.elements),
              part_of(parameters, tensor));
    EXPECT_EQ(std::vector(found.gradient(tensor), found.gradient(tensor) + tensor.elements),
              part_of(gradients, tensor));
    for (const models::Parameter& other : layout.parameters)
      EXPECT_EQ(found.has(other), other.layer == tensor.layer);
  }
}

TEST_P(Inspections, HoldGradientsWithoutTheScaleThatTheirStepHad) {
  const auto engine = make(options());
  const auto plain = make(options());
  EngineState state = engine->state();
  state.control.loss_scale = 256;
  state.control.growth_interval = 2;  // the third step has another scale than the fourth will have
  engine->restore(state);
  for (int step = 1; step <= 3; ++step) {
    run_steps(*engine, 1);
    run_steps(*plain, 1);
    const std::unique_ptr<Observer> inspector = make_inspector();
    const std::vector<float> gradients = plain->gradients();
    const Inspection found = look(*engine, *inspector, 0, 1);
    ASSERT_FALSE(found.gradients.empty());
    const auto begin = gradients.begin() + static_cast<std::ptrdiff_t>(found.first);
    EXPECT_TRUE(std::equal(found.gradients.begin(), found.gradients.end(), begin)) << "step " << step;
  }
}

TEST_P(Inspections, HoldNoGradientsOfAnotherStep) {
  const auto engine = make(options());
  run_steps(*engine, 2);
  const EngineState then = engine->state();
  run_steps(*engine, 3);
  const std::unique_ptr<Observer> inspector = make_inspector();
  EXPECT_TRUE(look(*engine, *inspector, 0, 1).has_gradients());
  engine->restore(then);
  const Inspection found = look(*engine, *inspector, 0, 1);
  EXPECT_EQ(found.step, 2u);
  EXPECT_FALSE(found.parameters.empty());
  EXPECT_FALSE(found.has_gradients()) << "those that are there are of step 5";
  run_steps(*engine, 1);
  EXPECT_TRUE(look(*engine, *inspector, 0, 1).has_gradients());
}

TEST_P(Inspections, DisturbNothing) {
  const auto engine = make(options());
  const auto twin = make(options());
  run_steps(*engine, 3);
  run_steps(*twin, 3);
  const std::unique_ptr<Observer> inspector = make_inspector();
  look(*engine, *inspector, 2);
  look(*engine, *inspector, 5);
  EXPECT_EQ(tests::losses(run_steps(*engine, 5)), tests::losses(run_steps(*twin, 5)));
}

TEST_P(Inspections, FollowTheSelection) {
  const auto engine = make(options());
  const std::unique_ptr<Observer> inspector = make_inspector();
  look(*engine, *inspector, 0);
  engine->set_selection(tests::other_selection(GetParam().streams));
  const Inspection found = look(*engine, *inspector, 1);
  EXPECT_EQ(found.image, 1);
  EXPECT_EQ(found.outputs.size(), engine->model().layers.size() + 1);
}

TEST_P(Inspections, OfImagesThatAreNotThereAreRefused) {
  const auto engine = make(options());
  const std::unique_ptr<Observer> inspector = make_inspector();
  Observations seen;
  for (const std::int64_t image : {std::int64_t{-1}, data->test.count}) {
    inspector->ask(of_image(image));
    EXPECT_THROW(inspector->start(engine->scene()), core::BadInput);
    EXPECT_FALSE(inspector->take(seen));
  }
}

/// On a device whose streams run behind.
class InspectionsUnderWay : public testing::Test {
 protected:
  const std::shared_ptr<tests::AsyncDevice> device = std::make_shared<tests::AsyncDevice>();
  Engine engine{tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data()), device};
  const std::unique_ptr<Observer> inspector = make_inspector();
  Observations seen;
};

TEST_F(InspectionsUnderWay, AreNotStartedTwiceAndNotTakenEarly) {
  auto held = device->hold();
  EXPECT_TRUE(inspector->ask(of_image(3)));
  EXPECT_TRUE(inspector->start(engine.scene()));
  EXPECT_FALSE(inspector->start(engine.scene()));
  EXPECT_FALSE(inspector->take(seen));
  held.reset();
  EXPECT_EQ(wait_for(*inspector).image, 3);
  EXPECT_FALSE(inspector->take(seen)) << "it is taken once";
}

TEST_F(InspectionsUnderWay, MayBeEnded) {
  inspector->ask(of_image(3));
  EXPECT_TRUE(inspector->start(engine.scene()));
  inspector->end(seen);
  EXPECT_FALSE(inspector->take(seen));
  inspector->ask(of_image(4));
  EXPECT_TRUE(inspector->start(engine.scene()));
  EXPECT_EQ(wait_for(*inspector).image, 4);
}

TEST_F(InspectionsUnderWay, OfAnImageThatIsNoLongerAskedForAreDropped) {
  auto held = device->hold();
  inspector->ask(of_image(3));
  EXPECT_TRUE(inspector->start(engine.scene()));
  EXPECT_TRUE(inspector->ask(of_image(4)));
  EXPECT_FALSE(inspector->ask(of_image(4))) << "nothing has changed";
  held.reset();
  while (!inspector->start(engine.scene())) EXPECT_FALSE(inspector->take(seen));
  EXPECT_EQ(wait_for(*inspector).image, 4);
}

}  // namespace
}  // namespace warpscope::training::inspector_test
