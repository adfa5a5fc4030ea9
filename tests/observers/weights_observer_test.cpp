// Weights that are asked for are those of the step, and asking disturbs nothing.

#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "gpu/engine/engine.h"
#include "gpu/observers/observer_table.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::weights_observer_test {
namespace {

using tests::run_steps;

ObservationRequest number(std::uint64_t value) {
  ObservationRequest request;
  request.weights = value;
  return request;
}

std::shared_ptr<const Weights> wait_for(Observer& observer) {
  Observations seen;
  while (!observer.take(seen)) std::this_thread::yield();
  return seen.weights;
}

/// On streams of every kind.
class AskedWeights : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  std::unique_ptr<Engine> make() const {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam());
    return std::make_unique<Engine>(options, std::make_shared<data::DataSet>(tests::tiny_data()), device);
  }
  const std::shared_ptr<core::Device> device = tests::device_of(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Streams, AskedWeights, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(AskedWeights, AreThoseOfTheStepAndComeOnceForEachNumber) {
  const auto engine = make();
  const std::unique_ptr<Observer> observer = make_weights_observer();
  EXPECT_FALSE(observer->wanted());
  for (const std::uint64_t asked : {3u, 4u}) {
    run_steps(*engine, 3);
    EXPECT_TRUE(observer->ask(number(asked)));
    EXPECT_FALSE(observer->ask(number(asked))) << "nothing has changed";
    EXPECT_TRUE(observer->wanted());
    Scene scene = engine->scene();
    scene.generation = 9;
    ASSERT_TRUE(observer->start(scene));
    const auto found = wait_for(*observer);
    EXPECT_EQ(found->number, asked);
    EXPECT_EQ(found->step, engine->steps());
    EXPECT_EQ(found->generation, 9u);
    EXPECT_EQ(found->selection, engine->options().selection);
    EXPECT_EQ(found->parameters, engine->parameters());
    EXPECT_FALSE(observer->wanted());
  }
}

TEST_P(AskedWeights, AreNotThoseOfLaterSteps) {
  const auto engine = make();
  run_steps(*engine, 2);
  const std::vector<float> then = engine->parameters();
  const std::unique_ptr<Observer> observer = make_weights_observer();
  observer->ask(number(1));
  ASSERT_TRUE(observer->start(engine->scene()));
  run_steps(*engine, 4);
  ASSERT_NE(engine->parameters(), then);
  EXPECT_EQ(wait_for(*observer)->parameters, then);
}

TEST_P(AskedWeights, DisturbNothing) {
  const auto engine = make(), twin = make();
  run_steps(*engine, 3);
  run_steps(*twin, 3);
  const std::unique_ptr<Observer> observer = make_weights_observer();
  observer->ask(number(1));
  ASSERT_TRUE(observer->start(engine->scene()));
  wait_for(*observer);
  EXPECT_EQ(tests::losses(run_steps(*engine, 5)), tests::losses(run_steps(*twin, 5)));
}

/// On a device whose streams run behind.
class WeightsUnderWay : public testing::Test {
 protected:
  const std::shared_ptr<tests::AsyncDevice> device = std::make_shared<tests::AsyncDevice>();
  Engine engine{tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data()), device};
  const std::unique_ptr<Observer> observer = make_weights_observer();
  Observations seen;
};

TEST_F(WeightsUnderWay, AreNotStartedTwiceAndNotTakenEarly) {
  auto held = device->hold_copies();
  observer->ask(number(1));
  EXPECT_TRUE(observer->start(engine.scene()));
  EXPECT_FALSE(observer->start(engine.scene()));
  EXPECT_FALSE(observer->take(seen));
  held.reset();
  EXPECT_EQ(wait_for(*observer)->number, 1u);
  EXPECT_FALSE(observer->take(seen)) << "they are taken once";
}

TEST_F(WeightsUnderWay, OfANumberThatIsNoLongerAskedForAreDropped) {
  auto held = device->hold_copies();
  observer->ask(number(1));
  EXPECT_TRUE(observer->start(engine.scene()));
  EXPECT_TRUE(observer->ask(number(2)));
  held.reset();
  while (!observer->start(engine.scene())) EXPECT_FALSE(observer->take(seen));
  EXPECT_EQ(wait_for(*observer)->number, 2u);
}

TEST_F(WeightsUnderWay, MayBeEndedAndAskedForAgain) {
  observer->ask(number(1));
  EXPECT_TRUE(observer->start(engine.scene()));
  seen.weights = std::make_shared<const Weights>();
  EXPECT_TRUE(observer->ask(number(0)));
  EXPECT_FALSE(observer->wanted());
  observer->end(seen);
  EXPECT_EQ(seen.weights, nullptr);
  EXPECT_FALSE(observer->take(seen));
  EXPECT_TRUE(observer->ask(number(1)));
  EXPECT_TRUE(observer->wanted());
  EXPECT_TRUE(observer->start(engine.scene()));
  EXPECT_EQ(wait_for(*observer)->number, 1u);
}

}  // namespace
}  // namespace warpscope::training::weights_observer_test
