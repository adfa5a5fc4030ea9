// What the engine makes of optimizers, micro-batches and labelled data.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::optimizers_test {
namespace {

using ops::UpdateRule;
using tests::run_steps;

std::unique_ptr<Engine> make(EngineOptions options) {
  return std::make_unique<Engine>(std::move(options), std::make_shared<data::DataSet>(tests::tiny_data()),
                                  core::open_device("cpu"));
}

EngineOptions options_with(UpdateRule rule, float rate) {
  EngineOptions options = tests::tiny_engine_options();
  options.optimizer = defaults_of(rule);
  options.optimizer.learning_rate = rate;
  return options;
}

double norm(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return norm(difference);
}

class EveryRule : public testing::TestWithParam<int> {
 protected:
  const UpdateRule rule = static_cast<UpdateRule>(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Optimizers, EveryRule, testing::Range(0, ops::kUpdateRuleCount),
                         [](const auto& which) {
                           return std::string(ops::to_string(static_cast<UpdateRule>(which.param)));
                         });

TEST_P(EveryRule, MicroBatchesStepAsOneLargeBatchDoes) {
  EngineOptions whole = options_with(rule, 0.01f);
  EngineOptions parts = whole;
  parts.batch = 2;
  parts.optimizer.accumulate = 4;
  const auto one = make(whole);
  const auto four = make(parts);
  const auto expected = run_steps(*one, 7);
  const auto results = run_steps(*four, 7);
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_NEAR(results[i].loss, expected[i].loss, 1e-5f * expected[i].loss) << "step " << i;
    EXPECT_NEAR(results[i].gradient_norm, expected[i].gradient_norm, 1e-4f * expected[i].gradient_norm);
    EXPECT_EQ(results[i].batch, 8);
    EXPECT_EQ(results[i].epoch, expected[i].epoch);
  }
  const double most = ops::row_of(rule).takes_sign ? 1e-2 : 1e-4;
  EXPECT_LT(distance(one->parameters(), four->parameters()), most * norm(one->parameters()));
}

TEST_P(EveryRule, GoesOnBitForBitFromASavedState) {
  const EngineOptions options = options_with(rule, 0.01f);
  const auto straight = make(options);
  run_steps(*straight, 7);
  const EngineState state = straight->state();
  EXPECT_EQ(state.states.size(), static_cast<std::size_t>(ops::states_of(rule)));
  const auto expected = run_steps(*straight, 9);
  const auto other = make(options);
  run_steps(*other, 3);
  other->restore(state);
  const auto results = run_steps(*other, 9);
  EXPECT_EQ(tests::losses(results), tests::losses(expected));
  EXPECT_EQ(results.front().step, 8u);
  EXPECT_EQ(other->parameters(), straight->parameters());
}

TEST_P(EveryRule, MakesTheLossFall) {
  const auto engine = make(options_with(rule, rule == UpdateRule::sgd ? 0.2f : 0.01f));
  const auto results = run_steps(*engine, 60);
  EXPECT_LT(results.back().loss, 0.8f * results.front().loss);
  for (const StepResult& result : results) {
    EXPECT_GT(result.gradient_norm, 0);
    EXPECT_GT(result.update_ratio, 0);
    EXPECT_FALSE(result.skipped);
  }
}

TEST(Optimizers, AnotherRuleKeepsTheWeightsAndStartsFresh) {
  const auto engine = make(options_with(UpdateRule::adam, 0.01f));
  run_steps(*engine, 5);
  const std::vector<float> weights = engine->parameters();
  engine->set_optimizer(defaults_of(UpdateRule::momentum));
  EXPECT_EQ(engine->parameters(), weights);
  const EngineState state = engine->state();
  ASSERT_EQ(state.states.size(), 1u);
  EXPECT_EQ(norm(state.states[0]), 0);
  EXPECT_EQ(state.control.updates, 0u);
  run_steps(*engine, 1);
  EXPECT_EQ(engine->state().control.updates, 1u);
  // The first step of momentum is one of gradient descent.
  const std::vector<float> gradients = engine->gradients();
  const std::vector<float> after = engine->parameters();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ASSERT_FLOAT_EQ(after[i], weights[i] - 0.0005f * gradients[i]);
  }
}

TEST(Optimizers, ChangedNumbersTakeEffectWithoutFreshState) {
  const auto engine = make(options_with(UpdateRule::adam, 0.01f));
  run_steps(*engine, 5);
  OptimizerSettings changed = engine->options().optimizer;
  changed.learning_rate = 0;
  engine->set_optimizer(changed);
  const std::vector<float> weights = engine->parameters();
  EXPECT_EQ(run_steps(*engine, 1)[0].learning_rate, 0.0f);
  EXPECT_EQ(engine->parameters(), weights);
  EXPECT_EQ(engine->state().control.updates, 6u);
  EXPECT_GT(norm(engine->state().states[0]), 0);
}

TEST(Optimizers, ClippingLimitsTheUpdate) {
  EngineOptions options = options_with(UpdateRule::sgd, 0.5f);
  options.optimizer.clip_norm = 1e-3f;
  const auto engine = make(options);
  const std::vector<float> before = engine->parameters();
  const auto results = run_steps(*engine, 1);
  EXPECT_NEAR(results[0].gradient_norm, norm(engine->gradients()), 1e-5 * norm(engine->gradients()));
  EXPECT_GT(results[0].gradient_norm, 1e-2f);
  EXPECT_NEAR(distance(engine->parameters(), before), 0.5e-3, 1e-6);
  EXPECT_NEAR(results[0].update_ratio, 0.5e-3 / norm(before), 1e-3 * 0.5e-3 / norm(before));
}

TEST(Optimizers, EachImageByItselfStepsByTheSumOfItsGradients) {
  EngineOptions plain = options_with(UpdateRule::sgd, 0.08f);
  EngineOptions faulty = plain;
  faulty.optimizer.learning_rate = 0.01f;  // eight images: eight times the rate
  faulty.optimizer.per_sample = true;
  const auto expected = make(plain);
  const auto engine = make(faulty);
  run_steps(*expected, 3);
  run_steps(*engine, 3);
  EXPECT_LT(distance(engine->parameters(), expected->parameters()), 1e-5 * norm(expected->parameters()));
}

TEST(Optimizers, WhatCannotBeIsRefusedAndChangesNothing) {
  const auto engine = make(options_with(UpdateRule::adam, 0.01f));
  run_steps(*engine, 2);
  const EngineState before = engine->state();
  OptimizerSettings wrong = defaults_of(UpdateRule::lion);
  wrong.beta1 = 1.5f;
  EXPECT_THROW(engine->set_optimizer(wrong), core::BadInput);
  wrong = defaults_of(UpdateRule::sgd);
  wrong.accumulate = 6;  // 48 of 40 images
  EXPECT_THROW(engine->set_optimizer(wrong), core::BadInput);
  EngineState other = before;
  other.rule = UpdateRule::sgd;
  EXPECT_THROW(engine->restore(other), core::BadInput);
  EXPECT_EQ(engine->state().states, before.states);
  EXPECT_EQ(engine->options().optimizer.rule, UpdateRule::adam);
}

TEST(Optimizers, EarlierWeightsComeBack) {
  const auto engine = make(options_with(UpdateRule::adam, 0.01f));
  EXPECT_FALSE(engine->recall(100));
  run_steps(*engine, 3);
  engine->remember();
  const EngineState first = engine->state();
  run_steps(*engine, 3);
  engine->remember();
  run_steps(*engine, 3);
  EXPECT_FALSE(engine->rollback().remembers(2));
  ASSERT_TRUE(engine->rollback().remembers(5));
  ASSERT_TRUE(engine->recall(5)) << "the copy after step 6 is too new";
  EXPECT_EQ(engine->parameters(), first.parameters);
  EXPECT_EQ(engine->state().states, first.states);
  EXPECT_EQ(engine->state().control.updates, 3u);
  EXPECT_EQ(run_steps(*engine, 1)[0].step, 10u) << "the curve goes on";
}

TEST(Optimizers, WeightsThatMayBeRuinedAlreadyDoNotComeBack) {
  const auto engine = make(options_with(UpdateRule::adam, 0.01f));
  run_steps(*engine, 3);
  engine->remember();
  const std::vector<float> first = engine->parameters();
  run_steps(*engine, 33);
  engine->remember();
  const std::vector<float> second = engine->parameters();
  run_steps(*engine, 1);
  ASSERT_TRUE(engine->recall(36)) << "the loss of step 37 shows what an update before it did";
  EXPECT_EQ(engine->parameters(), first);

  engine->remember();  // after step 37, beside that of step 3
  run_steps(*engine, 4);
  const std::vector<float> later = engine->parameters();
  engine->remember();
  run_steps(*engine, 32);
  ASSERT_TRUE(engine->recall(73)) << "those of step 41 have trained on for long enough";
  EXPECT_EQ(engine->parameters(), later);
  EXPECT_NE(later, second);
}

TEST(Optimizers, ACopyTellsTheRateAndThePlaceItWasTrainedWith) {
  const auto engine = make(options_with(UpdateRule::adam, 0.01f));
  EXPECT_TRUE(engine->rollback().copy_due());
  run_steps(*engine, 3);
  const EngineState state = engine->state();
  OptimizerSettings faster = engine->options().optimizer;
  faster.learning_rate = 5;
  engine->set_optimizer(faster);
  engine->remember();
  EXPECT_EQ(engine->rollback().rate(3), 0.01f) << "no step has been made with the new one";
  run_steps(*engine, 2);
  const auto copy = engine->rollback().state(3);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->parameters, state.parameters);
  EXPECT_EQ(copy->states, state.states);
  EXPECT_EQ(copy->steps, 3u);
  EXPECT_EQ(copy->epochs_done, state.epochs_done);
  EXPECT_EQ(copy->position, state.position);
  engine->remember();
  EXPECT_FALSE(engine->rollback().copy_due());
  EXPECT_EQ(engine->rollback().rate(5), 0.01f) << "of two that are new the older one";
  EXPECT_FALSE(engine->rollback().state(2));
}

TEST(NotFiniteNumbers, StopTheUpdatesAndAreFound) {
  const auto engine = make(options_with(UpdateRule::sgd, 1e6f));
  std::vector<StepResult> results;
  while (results.empty() || std::isfinite(results.back().loss)) {
    results = run_steps(*engine, 1);
    ASSERT_LT(results.back().step, 30u);
  }
  const std::uint64_t step = results.back().step;
  EXPECT_TRUE(results.back().skipped);
  const std::vector<float> weights = engine->parameters();
  for (const float weight : weights) ASSERT_TRUE(std::isfinite(weight));
  EXPECT_TRUE(run_steps(*engine, 1).back().skipped) << "until somebody clears it";
  EXPECT_EQ(engine->parameters(), weights);
  const NotFinite found = engine->find_not_finite(step - 1);
  EXPECT_FALSE(found.tensor.empty());
  EXPECT_GT(found.count, 0);
  EXPECT_EQ(engine->parameters(), weights);
  EXPECT_EQ(engine->find_not_finite(step + 1).tensor, "") << "that step has not been taken";
}

TEST(Classification, LearnsAndCountsWhatItGetsRight) {
  EngineOptions options;
  options.model = tests::tiny_classifier();
  options.selection = tests::all_of("loops");
  options.batch = 10;
  options.optimizer = defaults_of(UpdateRule::adam);
  options.optimizer.learning_rate = 0.01f;
  options.test_images = 30;
  auto data = std::make_shared<data::DataSet>(tests::labelled_data(120, 30));
  Engine engine(options, data, core::open_device("cpu"));
  const auto results = run_steps(engine, 120);
  EXPECT_NEAR(results.front().loss, std::log(3.0), 1.0);
  EXPECT_LT(results.back().loss, 0.2f);
  EXPECT_GT(results.back().accuracy, 0.85f);
  engine.evaluator().start(Split::test);
  while (!engine.evaluator().enqueue_batch()) {
  }
  engine.synchronize();
  const auto found = engine.evaluator().collect();
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->classes, 3);
  ASSERT_EQ(found->predicted.size(), 30u);
  std::uint32_t right = 0;
  std::uint32_t all = 0;
  for (std::size_t truth = 0; truth < 3; ++truth) {
    for (std::size_t guess = 0; guess < 3; ++guess) {
      std::uint32_t count = 0;
      for (std::size_t i = 0; i < 30; ++i) {
        count += data->test.labels[i] == truth && found->predicted[i] == guess;
      }
      EXPECT_EQ(found->confusion[truth * 3 + guess], count);
      all += count;
      right += truth == guess ? count : 0;
    }
  }
  EXPECT_EQ(all, 30u);
  EXPECT_EQ(found->accuracy, static_cast<double>(static_cast<float>(right / 30.0)));
  EXPECT_GT(found->accuracy, 0.8);
}

TEST(Classification, EvaluatesValidationImagesApart) {
  EngineOptions options;
  options.model = tests::tiny_classifier();
  options.selection = tests::all_of("loops");
  options.batch = 10;
  options.test_images = 1000;
  auto data = std::make_shared<data::DataSet>(tests::labelled_data(60, 30));
  data->validation = tests::labelled_images(17, 99);
  Engine engine(options, data, core::open_device("cpu"));
  const auto evaluate = [&](Split split) {
    engine.evaluator().start(split);
    while (!engine.evaluator().enqueue_batch()) {
    }
    engine.synchronize();
    return engine.evaluator().collect();
  };
  const auto validation = evaluate(Split::validation);
  const auto test = evaluate(Split::test);
  EXPECT_EQ(validation->split, Split::validation);
  EXPECT_EQ(validation->image_losses.size(), 17u);
  EXPECT_EQ(test->image_losses.size(), 30u);
  // The same images as a test set of their own give the same numbers.
  auto swapped = std::make_shared<data::DataSet>(*data);
  std::swap(swapped->test, swapped->validation);
  Engine other(options, swapped, core::open_device("cpu"));
  other.evaluator().start(Split::test);
  while (!other.evaluator().enqueue_batch()) {
  }
  other.synchronize();
  EXPECT_EQ(other.evaluator().collect()->image_losses, validation->image_losses);
}

TEST(Classification, RefusesLabelsItDoesNotKnow) {
  EngineOptions options;
  options.model = tests::tiny_classifier();
  options.selection = tests::all_of("loops");
  options.batch = 10;
  auto data = std::make_shared<data::DataSet>(tests::labelled_data(60, 30));
  data->test.labels[7] = 3;
  EXPECT_THROW(Engine(options, data, core::open_device("cpu")), core::BadInput);
  data->test.labels.clear();
  EXPECT_THROW(Engine(options, data, core::open_device("cpu")), core::BadInput);
}

}  // namespace
}  // namespace warpscope::training::optimizers_test
