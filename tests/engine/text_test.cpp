// Networks that take texts, from the sentences to a trained network.

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/selection.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/tiny_text.h"

namespace warpscope::training::text_test {
namespace {

EngineOptions options_of(models::LayerKind first, const std::string& select = "",
                         core::Precision precision = core::Precision::fp32) {
  EngineOptions options = tests::tiny_engine_options();
  options.model = tests::tiny_text_model(first);
  options.selection = {precision, {}};
  plan::apply(options.selection, select, core::open_device("cpu")->info());
  options.batch = 32;
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  options.optimizer.learning_rate = 0.01f;
  return options;
}

std::vector<float> losses_of(const EngineOptions& options, int steps) {
  const auto data = std::make_shared<data::DataSet>(tests::tiny_text_data());
  Engine engine(options, data, core::open_device("cpu"));
  return tests::losses(tests::run_steps(engine, steps));
}

float last_of(const std::vector<float>& losses) {
  return std::accumulate(losses.end() - 10, losses.end(), 0.0f) / 10;
}

TEST(TextTraining, TextsAreNotAugmented) {
  const auto data = std::make_shared<data::DataSet>(tests::tiny_text_data());
  EngineOptions options = options_of(models::LayerKind::one_hot);
  Engine engine(options, data, core::open_device("cpu"));
  EXPECT_THROW(engine.set_augment({.mixup = 1}), core::BadInput);
  EXPECT_EQ(engine.options().augment, AugmentSettings{});
  tests::run_steps(engine, 1);
  options.augment.flip = true;
  EXPECT_THROW(Engine(options, data, core::open_device("cpu")), core::BadInput);
}

TEST(TextTraining, GoesOnWithTheAlphabetOfItsDataAlone) {
  const auto data = std::make_shared<data::DataSet>(tests::tiny_text_data());
  Engine engine(options_of(models::LayerKind::one_hot), data, core::open_device("cpu"));
  models::Model other = tests::tiny_text_model();
  other.alphabet.back() = '.';
  try {
    engine.set_network(other);
    ADD_FAILURE();
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("another alphabet"), std::string::npos) << error.what();
  }
  EXPECT_EQ(engine.model(), tests::tiny_text_model());
}

TEST(TextTraining, LearnsWhatSentencesAreAbout) {
  for (const auto first : {models::LayerKind::one_hot, models::LayerKind::embedding}) {
    const std::vector<float> losses = losses_of(options_of(first), 150);
    EXPECT_NEAR(losses.front(), std::log(4.0f), 0.6f);
    EXPECT_LT(last_of(losses), 0.5f) << models::row_of(first).name;
  }
}

TEST(TextTraining, LearnsAlikeByAllVariants) {
  const std::vector<float> expected = losses_of(options_of(models::LayerKind::one_hot, "all=loops"), 20);
  for (const char* const select :
       {"", "conv2d.forward=loops", "conv2d.backward_weights=loops,one_hot.forward=loops"}) {
    const std::vector<float> losses = losses_of(options_of(models::LayerKind::one_hot, select), 20);
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected[i], 2e-3f) << select << " " << i;
  }
}

TEST(TextTraining, LearnsIn16BitsToo) {
  for (const auto first : {models::LayerKind::one_hot, models::LayerKind::embedding}) {
    EXPECT_LT(last_of(losses_of(options_of(first, "", core::Precision::bf16), 150)), 0.7f);
  }
}

}  // namespace
}  // namespace warpscope::training::text_test
