#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "gpu/observers/observer_table.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::augmented_observer_test {
namespace {

using tests::run_steps;

constexpr AugmentSettings kMany{.flip = true, .crop = 2, .cutout = 3, .jitter = 0.3f, .mixup = 0.5f};

class Augmented : public testing::Test {
 protected:
  std::unique_ptr<Engine> make(const AugmentSettings& augment, int batch = 20) const {
    EngineOptions options = tests::tiny_engine_options();
    options.batch = batch;
    options.shuffle = false;
    options.augment = augment;
    return std::make_unique<Engine>(options, data, core::open_device("cpu"));
  }
  /// A look of an observer of its own: one shows its pictures for a while.
  static std::shared_ptr<const AugmentedImages> look(Engine& engine) {
    const std::unique_ptr<Observer> observer = make_augmented_observer();
    ObservationRequest request;
    request.augmented = true;
    EXPECT_TRUE(observer->ask(request));
    EXPECT_FALSE(observer->ask(request));
    EXPECT_TRUE(observer->start(engine.scene()));
    EXPECT_FALSE(observer->start(engine.scene())) << "the one before is not taken";
    Observations seen;
    while (!observer->take(seen)) std::this_thread::yield();
    return seen.augmented;
  }

  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(tests::tiny_data());
};

TEST_F(Augmented, AreTheImagesThemselvesWithNothingOn) {
  const auto engine = make({});
  run_steps(*engine, 1);
  const auto seen = look(*engine);
  ASSERT_EQ(seen->images.count, 16);
  EXPECT_EQ(seen->step, 1u);
  EXPECT_EQ(seen->own_share, 1);
  const auto from = data->train.pixels.begin() + 20 * data->train.image_bytes();
  EXPECT_TRUE(std::equal(seen->images.pixels.begin(), seen->images.pixels.end(), from))
      << "of the second batch";
}

TEST_F(Augmented, AreThoseOfTheComingStepWithTheSettingsOfNow) {
  const auto engine = make({.flip = true});
  const auto first = look(*engine);
  EXPECT_NE(first->images.pixels, look(*make({}))->images.pixels);
  EXPECT_EQ(first->images.pixels, look(*engine)->images.pixels) << "as long as no step is made";
  engine->set_augment(kMany);
  const auto second = look(*engine);
  EXPECT_NE(second->images.pixels, first->images.pixels);
  EXPECT_LT(second->own_share, 1);
  const auto other = make(kMany);
  EXPECT_EQ(look(*other)->images.pixels, second->images.pixels);
  run_steps(*engine, 1);
  EXPECT_NE(look(*engine)->images.pixels, second->images.pixels);
}

TEST_F(Augmented, AreNoMoreThanTheBatchHas) {
  EXPECT_EQ(look(*make(kMany, 3))->images.count, 3);
  AugmentSettings unmixed = kMany;
  unmixed.mixup = 0;
  EXPECT_EQ(look(*make(unmixed, 1))->images.count, 1);
}

TEST_F(Augmented, LookingDisturbsNothing) {
  const auto watched = make(kMany), alone = make(kMany);
  std::vector<float> losses;
  for (int step = 0; step < 5; ++step) {
    look(*watched);
    for (const float loss : tests::losses(run_steps(*watched, 1))) losses.push_back(loss);
  }
  EXPECT_EQ(losses, tests::losses(run_steps(*alone, 5)));
}

TEST_F(Augmented, EndWithTheRequest) {
  const auto engine = make(kMany);
  const std::unique_ptr<Observer> observer = make_augmented_observer();
  ObservationRequest request;
  request.augmented = true;
  observer->ask(request);
  EXPECT_TRUE(observer->wanted());
  EXPECT_TRUE(observer->start(engine->scene()));
  Observations seen;
  EXPECT_TRUE(observer->ask({}));
  EXPECT_FALSE(observer->wanted());
  observer->end(seen);
  EXPECT_FALSE(observer->take(seen));
  EXPECT_EQ(seen.augmented, nullptr);
}

}  // namespace
}  // namespace warpscope::training::augmented_observer_test
