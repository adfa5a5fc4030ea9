// What a probe says of the latents: classes that they hold are found, and those that they do not hold are not.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/engine/engine.h"
#include "gpu/observers/observer_table.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::feature_prober_test {
namespace {

ObservationRequest asked(bool probe = true) {
  ObservationRequest request;
  request.feature_probe = probe;
  return request;
}

/// Images whose class is how bright they are, or that have classes by chance.
data::DataSet bright_data(bool by_chance) {
  data::DataSet set = tests::tiny_data(40, 190);
  set.classes = {"dark", "grey", "bright"};
  const auto bytes = static_cast<std::size_t>(set.test.image_bytes());
  for (std::size_t image = 0; image < set.test.labels.size(); ++image) {
    const std::size_t shade = image % 3;
    for (std::size_t i = 0; i < bytes; ++i) {
      auto& pixel = set.test.pixels[image * bytes + i];
      pixel = static_cast<std::uint8_t>(pixel / 4 + 80 * shade);
    }
    set.test.labels[image] = static_cast<std::uint8_t>(
        by_chance ? static_cast<std::size_t>(3 * core::random_unit(5, image)) : shade);
  }
  return set;
}

class Probes : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  std::unique_ptr<Engine> make(data::DataSet data) const {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam());
    return std::make_unique<Engine>(options, std::make_shared<data::DataSet>(std::move(data)), device);
  }
  static FeatureProbe look(Engine& engine) {
    const std::unique_ptr<Observer> prober = make_feature_prober();
    EXPECT_TRUE(prober->ask(asked()));
    EXPECT_TRUE(prober->start(engine.scene()));
    Observations seen;
    while (!prober->take(seen)) std::this_thread::yield();
    EXPECT_GT(prober->seconds(), 0);
    return *seen.probe;
  }
  const std::shared_ptr<core::Device> device = tests::device_of(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Streams, Probes, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(Probes, FindClassesThatTheLatentsHold) {
  const auto engine = make(bright_data(false));
  tests::run_steps(*engine, 3);
  const FeatureProbe probe = look(*engine);
  EXPECT_EQ(probe.step, 3u);
  EXPECT_EQ(probe.problem, "");
  EXPECT_EQ(probe.learned_from, 126);
  EXPECT_EQ(probe.judged_on, 64);
  EXPECT_GT(probe.accuracy, 0.9);
}

TEST_P(Probes, FindNoClassesThatAreNotThere) {
  const auto engine = make(bright_data(true));
  EXPECT_LT(look(*engine).accuracy, 0.6);
}

TEST_P(Probes, DisturbNothing) {
  const auto engine = make(bright_data(false)), twin = make(bright_data(false));
  look(*engine);
  EXPECT_EQ(tests::losses(tests::run_steps(*engine, 5)), tests::losses(tests::run_steps(*twin, 5)));
}

TEST_P(Probes, KeepTheirDistance) {
  const auto engine = make(bright_data(false));
  const std::unique_ptr<Observer> prober = make_feature_prober();
  prober->ask(asked());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(prober->start(engine->scene()));
  EXPECT_FALSE(prober->start(engine->scene())) << "the one before has not been taken";
  Observations seen;
  while (!prober->take(seen)) std::this_thread::yield();
  const bool started = prober->start(engine->scene());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(!started || passed.count() >= 3) << "it is too soon";
  EXPECT_TRUE(prober->ask(asked(false)));
  prober->end(seen);
  EXPECT_EQ(seen, Observations{});
}

TEST_P(Probes, OfDataWithoutClassesAreRefused) {
  data::DataSet data = bright_data(false);
  data.classes.resize(1);
  for (auto& label : data.test.labels) label = 0;
  const auto engine = make(std::move(data));
  const std::unique_ptr<Observer> prober = make_feature_prober();
  prober->ask(asked());
  EXPECT_THROW(prober->start(engine->scene()), core::BadInput);
  const auto few = make(tests::tiny_data());
  EXPECT_THROW(prober->start(few->scene()), core::BadInput);
}

TEST_P(Probes, OfLatentsThatAreNotFiniteSaySo) {
  const auto engine = make(bright_data(false));
  EngineState state = engine->state();
  for (float& value : state.parameters) value = 1e38f;
  engine->restore(state);
  EXPECT_EQ(look(*engine).problem, "The latents of step 0 hold numbers that are not finite.");
}

}  // namespace
}  // namespace warpscope::training::feature_prober_test
