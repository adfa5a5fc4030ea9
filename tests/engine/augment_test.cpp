// Training on augmented images: what is drawn follows from the seed and the step, and settings change live.

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::augment_test {
namespace {

using tests::losses;
using tests::run_steps;

constexpr AugmentSettings kAll{.flip = true, .crop = 2, .cutout = 3, .jitter = 0.4f, .mixup = 0.6f};

EngineOptions options_with(const AugmentSettings& augment, const char* variant = "loops") {
  EngineOptions options = tests::tiny_engine_options(variant);
  options.optimizer.learning_rate = 0.05f;
  options.augment = augment;
  return options;
}

EngineOptions classifier_with(const AugmentSettings& augment, const char* variant = "loops") {
  EngineOptions options = options_with(augment, variant);
  options.model = tests::tiny_classifier();
  return options;
}

std::unique_ptr<Engine> make(const EngineOptions& options) {
  return std::make_unique<Engine>(options, std::make_shared<data::DataSet>(tests::labelled_data(40, 12)),
                                  core::open_device("cpu"));
}

bool runs(const Engine& engine, ops::Op op) {
  for (const OpTiming& timing : engine.timings().timings()) {
    if (timing.op == op) return true;
  }
  return false;
}

TEST(Augmentation, TrainsTheSameBitsAgain) {
  for (const EngineOptions& options : {options_with(kAll), classifier_with(kAll)}) {
    const auto first = run_steps(*make(options), 12);
    EXPECT_EQ(losses(run_steps(*make(options), 12)), losses(first));
    EngineOptions plain = options;
    plain.augment = {};
    EXPECT_NE(losses(run_steps(*make(plain), 12)), losses(first));
    EngineOptions other = options;
    other.seed = 6;
    EXPECT_NE(losses(run_steps(*make(other), 12)), losses(first));
  }
}

TEST(Augmentation, GoesOnBitForBitFromASavedState) {
  for (const EngineOptions& options : {options_with(kAll), classifier_with(kAll)}) {
    const auto straight = make(options);
    run_steps(*straight, 7);
    const EngineState state = straight->state();
    const auto expected = run_steps(*straight, 9);
    const auto other = make(options);
    run_steps(*other, 3);
    other->restore(state);
    EXPECT_EQ(losses(run_steps(*other, 9)), losses(expected));
    EXPECT_EQ(other->parameters(), straight->parameters());
  }
}

TEST(Augmentation, VariantsTrainAlike) {
  for (const EngineOptions& options : {options_with(kAll), classifier_with(kAll)}) {
    EngineOptions reference = options;
    reference.selection = tests::all_of("reference");
    const auto exact = run_steps(*make(reference), 8), fast = run_steps(*make(options), 8);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(fast[i].loss, exact[i].loss, 1e-4f * exact[i].loss) << i;
      EXPECT_EQ(fast[i].accuracy, exact[i].accuracy) << i;
    }
  }
}

TEST(Augmentation, IsOfTrainingStepsAlone) {
  const auto plain = make(classifier_with({})), augmented = make(classifier_with(kAll));
  const auto evaluate = [](Engine& engine) {
    engine.evaluator().start(Split::test);
    while (!engine.evaluator().enqueue_batch()) {
    }
    std::shared_ptr<const Evaluation> found;
    while (!found) found = engine.evaluator().collect();
    return found->loss;
  };
  EXPECT_EQ(evaluate(*augmented), evaluate(*plain));
}

TEST(Augmentation, ChangesTheOpsOnlyWhereItMust) {
  const auto engine = make(classifier_with({}));
  EXPECT_TRUE(runs(*engine, ops::Op::batch_gather));
  EXPECT_FALSE(runs(*engine, ops::Op::batch_augment));
  engine->set_augment({.flip = true});
  EXPECT_TRUE(runs(*engine, ops::Op::batch_augment));
  EXPECT_FALSE(runs(*engine, ops::Op::batch_gather));
  EXPECT_TRUE(runs(*engine, ops::Op::cross_entropy_forward));
  engine->set_augment(kAll);
  EXPECT_TRUE(runs(*engine, ops::Op::mixed_cross_entropy_forward));
  EXPECT_TRUE(runs(*engine, ops::Op::mixed_cross_entropy_backward));
  EXPECT_FALSE(runs(*engine, ops::Op::cross_entropy_forward));
  engine->set_augment({});
  EXPECT_TRUE(runs(*engine, ops::Op::batch_gather));
  EXPECT_TRUE(runs(*engine, ops::Op::cross_entropy_backward));
}

/// Settings of the steps so far and from the next one on: as if they had always been so, but for the weights.
TEST(Augmentation, TakesEffectAtTheNextStep) {
  for (const AugmentSettings& before : {AugmentSettings{}, AugmentSettings{.crop = 1}, kAll}) {
    for (const AugmentSettings& after : {AugmentSettings{}, AugmentSettings{.jitter = 0.5f}, kAll}) {
      const auto engine = make(options_with(before));
      run_steps(*engine, 3);
      const EngineState state = engine->state();
      engine->set_augment(after);
      EXPECT_EQ(engine->options().augment, after);
      const auto other = make(options_with(after));
      other->restore(state);
      EXPECT_EQ(losses(run_steps(*engine, 5)), losses(run_steps(*other, 5)));
    }
  }
}

TEST(Augmentation, MicroBatchesDrawTheirOwn) {
  EngineOptions parts = classifier_with(kAll);
  parts.batch = 4;
  parts.optimizer.accumulate = 2;
  const auto engine = make(parts);
  run_steps(*engine, 4);
  const EngineState state = engine->state();
  const auto expected = losses(run_steps(*engine, 4));
  const auto other = make(parts);
  other->restore(state);
  EXPECT_EQ(losses(run_steps(*other, 4)), expected);
}

TEST(Augmentation, AHeadOnTheLatentsLearnsFromMixedLabels) {
  EngineOptions options = options_with(kAll);
  options.optimizer.joint = 0.3f;
  const auto engine = make(options);
  EXPECT_TRUE(runs(*engine, ops::Op::mixed_cross_entropy_forward));
  const auto results = run_steps(*engine, 60);
  EXPECT_TRUE(std::isfinite(results.back().head_loss));
  EXPECT_LT(results.back().loss, results.front().loss);
}

TEST(Augmentation, RefusesPairsWhereImagesComeOneByOne) {
  EngineOptions options = options_with({.mixup = 0.2f});
  options.optimizer.per_sample = true;
  EXPECT_THROW(make(options), core::BadInput);
  options.augment = {.flip = true, .crop = 1};
  const auto engine = make(options);
  run_steps(*engine, 2);
  EXPECT_THROW(engine->set_augment(kAll), core::BadInput);
  EXPECT_EQ(engine->options().augment, options.augment);
  run_steps(*engine, 2);
  const auto mixed = make(options_with(kAll));
  OptimizerSettings faulty = mixed->options().optimizer;
  faulty.per_sample = true;
  EXPECT_THROW(mixed->set_optimizer(faulty), core::BadInput);
  run_steps(*mixed, 2);
}

TEST(Augmentation, RefusesPairsInABatchOfOne) {
  EngineOptions options = options_with({.mixup = 0.2f});
  options.batch = 1;
  EXPECT_THROW(make(options), core::BadInput);
  options.augment = {};
  const auto engine = make(options);
  EXPECT_THROW(engine->set_augment({.mixup = 0.2f}), core::BadInput);
  EXPECT_EQ(engine->options().augment, AugmentSettings{});
  const auto mixed = make(options_with({.mixup = 0.2f}));
  EXPECT_THROW(mixed->set_batch(1), core::BadInput);
  EXPECT_GT(mixed->options().batch, 1);
}

TEST(Augmentation, RefusesToCutOutOrShiftMoreThanAnImage) {
  const auto engine = make(options_with({.crop = 7, .cutout = 8}));
  EXPECT_THROW(engine->set_augment({.crop = 8}), core::BadInput) << "images are 8x8";
  EXPECT_THROW(engine->set_augment({.cutout = 9}), core::BadInput) << "images are 8x8";
  EXPECT_EQ(engine->options().augment.cutout, 8);
}

TEST(Augmentation, RefusesWhatIsOutOfRangeAndChangesNothing) {
  const auto engine = make(options_with({}));
  for (const AugmentSettings& wrong :
       {AugmentSettings{.crop = 17}, AugmentSettings{.crop = -1}, AugmentSettings{.cutout = 33},
        AugmentSettings{.jitter = 1.5f}, AugmentSettings{.jitter = NAN}, AugmentSettings{.mixup = 2.5f}}) {
    EXPECT_THROW(engine->set_augment(wrong), core::BadInput);
    EXPECT_EQ(engine->options().augment, AugmentSettings{});
  }
}

}  // namespace
}  // namespace warpscope::training::augment_test
