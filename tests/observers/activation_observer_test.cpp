// How strongly channels answer to test images is what the network computes: against a model in double precision.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "gpu/observers/observer_table.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::activation_observer_test {
namespace {

using tests::run_steps;

struct Case {
  std::string name;
  tests::Streams streams = tests::Streams::at_once;
  bool classifies = false;
  std::int64_t images = 12;
};

ObservationRequest of_output(std::size_t output) {
  ObservationRequest request;
  request.activations_of = output;
  return request;
}

std::shared_ptr<const ChannelActivations> wait_for(Observer& observer) {
  Observations seen;
  while (!observer.take(seen)) std::this_thread::yield();
  return seen.activations;
}

/// On streams of every kind.
class Activations : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  static std::shared_ptr<data::DataSet> make_data() {
    const Case& of = GetParam();
    if (of.classifies) return std::make_shared<data::DataSet>(tests::labelled_data(40, of.images));
    return std::make_shared<data::DataSet>(tests::tiny_data(40, of.images));
  }
  std::unique_ptr<Engine> make() const {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam().streams);
    if (GetParam().classifies) options.model = tests::tiny_classifier();
    return std::make_unique<Engine>(options, data, device);
  }
  std::shared_ptr<const ChannelActivations> look(Engine& engine, std::size_t output) {
    EXPECT_TRUE(observer->ask(of_output(output)));
    EXPECT_TRUE(observer->start(engine.scene()));
    return wait_for(*observer);
  }

  const std::shared_ptr<core::Device> device = tests::device_of(GetParam().streams);
  const std::shared_ptr<data::DataSet> data = make_data();
  const std::unique_ptr<Observer> observer = make_activation_observer();
};

INSTANTIATE_TEST_SUITE_P(
    Streams, Activations,
    testing::Values(Case{"at_once"}, Case{"behind", tests::Streams::behind},
                    Case{"cuda", tests::Streams::cuda}, Case{"of_classes", tests::Streams::behind, true},
                    Case{"of_several_batches", tests::Streams::at_once, false, 90},
                    Case{"of_several_batches_on_cuda", tests::Streams::cuda, false, 131},
                    Case{"of_more_images_than_are_looked_at", tests::Streams::behind, false, 131}),
    [](const auto& which) { return which.param.name; });

TEST_P(Activations, AreMeanAndMaximumOfEveryChannelOfEveryLayer) {
  const auto engine = make();
  run_steps(*engine, 4);
  const std::vector<float> narrow = engine->parameters();
  const std::vector<double> parameters(narrow.begin(), narrow.end());
  const models::Model& model = engine->model();
  const tests::DoubleNetwork network(model);
  const std::int64_t most = GetParam().streams == tests::Streams::cuda ? 1024 : 96;
  const auto images = static_cast<std::size_t>(std::min(GetParam().images, most));
  std::vector<std::vector<std::vector<double>>> outputs(images);
  for (std::size_t image = 0; image < images; ++image) {
    const auto pixels = tests::image_of(data->test, static_cast<std::int64_t>(image));
    outputs[image] = network.outputs(parameters, pixels);
    outputs[image].insert(outputs[image].begin(), pixels);
  }
  models::Extent extent{model.height, model.width, model.channels};
  for (std::size_t output = 0; output <= model.layers.size(); ++output) {
    if (output > 0) extent.pass(model.layers[output - 1]);
    SCOPED_TRACE(output);
    const auto found = look(*engine, output);
    EXPECT_EQ(found->step, 4u);
    EXPECT_EQ(found->number, output + 1);
    EXPECT_EQ(found->output, output);
    ASSERT_EQ(found->images, images);
    ASSERT_EQ(found->channels, static_cast<std::size_t>(extent.channels));
    ASSERT_EQ(found->means.size(), images * found->channels);
    for (std::size_t image = 0; image < images; ++image) {
      for (std::size_t channel = 0; channel < found->channels; ++channel) {
        double sum = 0, peak = -1e300;
        std::size_t places = 0;
        for (std::size_t i = channel; i < outputs[image][output].size(); i += found->channels, ++places) {
          sum += outputs[image][output][i];
          peak = std::max(peak, outputs[image][output][i]);
        }
        ASSERT_NEAR(found->of(ChannelMeasure::mean, image, channel), sum / static_cast<double>(places), 2e-5)
            << image << ", " << channel;
        ASSERT_NEAR(found->of(ChannelMeasure::maximum, image, channel), peak, 2e-5)
            << image << ", " << channel;
      }
    }
  }
}

TEST_P(Activations, DisturbNothing) {
  const auto engine = make(), twin = make();
  run_steps(*engine, 3);
  run_steps(*twin, 3);
  look(*engine, 2);
  look(*engine, 5);
  EXPECT_EQ(tests::losses(run_steps(*engine, 5)), tests::losses(run_steps(*twin, 5)));
}

TEST_P(Activations, FollowTheSelectionAndRefuseLayersThatAreNotThere) {
  const auto engine = make();
  look(*engine, 1);
  engine->set_selection(tests::other_selection(GetParam().streams));
  EXPECT_EQ(look(*engine, 3)->output, 3u);
  Observations seen;
  observer->ask(of_output(engine->model().layers.size() + 1));
  EXPECT_THROW(observer->start(engine->scene()), core::BadInput);
  EXPECT_FALSE(observer->take(seen));
}

TEST(ActivationsUnderWay, OfALayerThatIsNoLongerAskedForAreDropped) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  Engine engine(tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data()), device);
  const std::unique_ptr<Observer> observer = make_activation_observer();
  Observations seen;
  auto held = device->hold();
  observer->ask(of_output(1));
  EXPECT_TRUE(observer->start(engine.scene()));
  EXPECT_FALSE(observer->start(engine.scene())) << "the one before is under way";
  EXPECT_FALSE(observer->take(seen));
  observer->ask(of_output(4));
  held.reset();
  while (!observer->start(engine.scene())) EXPECT_FALSE(observer->take(seen));
  EXPECT_EQ(wait_for(*observer)->output, 4u);
  observer->start(engine.scene());
  observer->end(seen);
  EXPECT_FALSE(observer->take(seen));
}

TEST(MostExciting, ImagesComeStrongestFirst) {
  ChannelActivations of;
  of.images = 5;
  of.channels = 2;
  const float nan = std::nanf("");
  //           image 0     1        2       3       4
  of.means = {0, 1, 0, 3, 0, nan, 0, 3, 0, -2};
  of.maxima = {0, 9, 0, 3, 0, nan, 0, 8, 0, 4};
  const auto images_of = [&](ChannelMeasure measure, std::size_t count) {
    std::vector<std::int64_t> images;
    for (const ExcitingImage& one : most_exciting(of, 1, measure, count)) images.push_back(one.image);
    return images;
  };
  EXPECT_EQ(images_of(ChannelMeasure::mean, 3), (std::vector<std::int64_t>{1, 3, 0}));
  EXPECT_EQ(images_of(ChannelMeasure::maximum, 9), (std::vector<std::int64_t>{0, 3, 4, 1}));
  EXPECT_EQ(most_exciting(of, 1, ChannelMeasure::mean, 1)[0].maximum, 3);
  EXPECT_TRUE(most_exciting(of, 2, ChannelMeasure::mean, 1).empty());
}

}  // namespace
}  // namespace warpscope::training::activation_observer_test
