// The network is changed while it trains.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/latent.h"
#include "gpu/models/model_file.h"
#include "gpu/models/parameters.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/head_snapshot.h"
#include "gpu/runs/trained_network.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/random_edits.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::network_change_test {
namespace {

using tests::FeedLog;
using tests::tiny_trainer_options;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

constexpr std::int64_t kTrainImages = 48, kTestImages = 36;

/// On labelled images, with Adam.
TrainerOptions options_for(const models::Model& model) {
  TrainerOptions options = tiny_trainer_options();
  options.model = model;
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(kTrainImages, kTestImages));
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  options.optimizer.learning_rate = 0.003f;
  return options;
}

/// conv1 and what follows from it have other shapes.
models::Model wider(models::Model model, int channels = 6) {
  model.layers[0].out_channels = channels;
  models::fit_layers(model);
  return model;
}

bool wait_for_network(const Trainer& trainer, const models::Model& network) {
  return wait_until(trainer, [&](const Snapshot& now) { return now.network && *now.network == network; });
}

void take_steps(Trainer& trainer, int count) {
  const std::uint64_t step = trainer.snapshot()->step;
  for (int i = 0; i < count; ++i) trainer.send(StepOnce{});
  wait_for_step(trainer, step + static_cast<std::uint64_t>(count));
}

TEST(NetworkChange, WhileItRunsPutsAMarkerAndStepsGoOn) {
  Trainer trainer(options_for(tests::tiny_classifier()));
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 10));
  EXPECT_EQ(*trainer.snapshot()->network, tests::tiny_classifier());
  EXPECT_EQ(trainer.snapshot()->network_number, 0u);
  const models::Model other = wider(tests::tiny_classifier());
  trainer.send(SetNetwork{other});
  ASSERT_TRUE(wait_for_network(trainer, other));
  const auto then = trainer.snapshot();
  EXPECT_EQ(then->network_number, 1u);
  EXPECT_EQ(then->parameters, models::parameter_layout(other).count);
  EXPECT_EQ(then->notice, "");
  ASSERT_TRUE(wait_for_step(trainer, then->step + 20));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
  EXPECT_EQ(trainer.snapshot()->generation, 0u);
  EXPECT_EQ(feed.markers(), (std::vector<std::string>{"network changed: 3 of 6 tensors carried over"}));
  ASSERT_EQ(feed.curves().size(), 1u);
  const auto ladder = *trainer.snapshot()->ladder;
  ASSERT_EQ(ladder.size(), 2u);
  EXPECT_TRUE(ladder[1].name.ends_with("; network changed")) << ladder[1].name;
}

TEST(NetworkChange, LeavesNoTestResultOfTheNetworkBefore) {
  Trainer trainer(options_for(tests::tiny_classifier()));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.evaluation != nullptr; }));
  trainer.send(Pause{});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.state == TrainerState::paused; }));
  const models::Model other = wider(tests::tiny_classifier());
  trainer.send(SetNetwork{other});
  ASSERT_TRUE(wait_for_network(trainer, other));
  EXPECT_EQ(trainer.snapshot()->evaluation, nullptr);
  EXPECT_TRUE(std::isnan(trainer.snapshot()->last_test[Metric::loss]));
}

TEST(NetworkChange, OfAPausedTrainingStepsAsAnEngineWithTheSameChangeDoes) {
  TrainerOptions options = options_for(tests::tiny_classifier());
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  EngineOptions same = tests::tiny_engine_options();
  same.model = options.model;
  same.optimizer = options.optimizer;
  Engine engine(same, options.data_set, core::open_device("cpu"));
  std::vector<float> expected = tests::losses(tests::run_steps(engine, 5));
  take_steps(trainer, 5);
  const models::Model other = wider(tests::tiny_classifier());
  trainer.send(SetNetwork{other});
  trainer.send(SetNetwork{other});
  ASSERT_TRUE(wait_for_network(trainer, other));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::paused);
  engine.set_network(other);
  for (const float loss : tests::losses(tests::run_steps(engine, 9))) expected.push_back(loss);
  take_steps(trainer, 9);
  EXPECT_EQ(feed.curves()[0], expected);
  EXPECT_EQ(feed.markers().size(), 1u) << "what changes nothing puts no marker";
}

TEST(NetworkChange, WhatCannotBeIsToldAndTrainingGoesOn) {
  Trainer trainer(options_for(tests::tiny_classifier()));
  ASSERT_TRUE(wait_for_step(trainer, 5));
  models::Model unfit = tests::tiny_classifier();
  unfit.layers[3].in_channels = 65;
  models::Model two_classes = tests::tiny_classifier();
  two_classes.classes = two_classes.layers.back().out_channels = 2;
  models::Model even = tests::tiny_classifier();
  even.layers[0].kernel = 17;
  models::Model twins = tests::tiny_classifier();
  twins.layers[4].name = "relu1";
  models::Model no_layers = tests::tiny_classifier();
  no_layers.layers.clear();
  const std::vector<std::pair<models::Model, std::string>> bad{
      {unfit, "fc1"},
      {two_classes, "tiny patches has images of class 2, model tiny classifier knows 2 classes"},
      {even, "kernel"},
      {twins, "relu1"},
      {no_layers, "tiny classifier"},
      {tests::tiny_model(), "network tiny reconstructs images, which this training does not"},
  };
  std::uint64_t notices = 0;
  for (const auto& [network, part] : bad) {
    trainer.send(SetNetwork{network});
    ASSERT_TRUE(tests::wait_for_notice(trainer, ++notices)) << part;
    const auto now = trainer.snapshot();
    EXPECT_TRUE(tests::holds(now->notice, {part}));
    EXPECT_EQ(*now->network, tests::tiny_classifier());
    EXPECT_EQ(now->network_number, 0u);
    ASSERT_TRUE(wait_for_step(trainer, now->step + 3));
  }
}

TEST(NetworkChange, ANameOfABuiltInNetworkIsGivenUp) {
  TrainerOptions options = options_for(tests::tiny_classifier());
  options.start_paused = true;
  Trainer trainer(options);
  models::Model other = wider(tests::tiny_classifier());
  other.name = "classifier";
  trainer.send(SetNetwork{other});
  other.name = "classifier-edited";
  ASSERT_TRUE(wait_for_network(trainer, other));
  EXPECT_EQ(trainer.snapshot()->model, "classifier-edited");
}

TEST(NetworkChange, ALossThatJumpsWithItIsNoSpike) {
  TrainerOptions options = options_for(tests::tiny_classifier());
  options.pause_on_divergence = true;
  options.spikes.threshold = 12;
  options.optimizer.learning_rate = 0.01f;
  Trainer trainer(options);
  ASSERT_TRUE(wait_until(
      trainer, [](const Snapshot& now) { return now.step > 200 && now.last[Metric::loss] < 0.01f; }));
  models::Model other = tests::tiny_classifier();
  other.layers.back().name = "last";
  trainer.send(SetNetwork{other});
  ASSERT_TRUE(wait_for_network(trainer, other));
  ASSERT_TRUE(wait_for_step(trainer, trainer.snapshot()->step + 30));
  EXPECT_EQ(trainer.snapshot()->divergence.id, 0u) << trainer.snapshot()->divergence.text;
}

TEST(NetworkChange, RollsBackToWeightsOfTheNewNetworkAlone) {
  TrainerOptions options = options_for(tests::tiny_model());
  options.optimizer = defaults_of(ops::UpdateRule::sgd);
  options.optimizer.learning_rate = 0.01f;
  options.pause_on_divergence = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 20));
  const models::Model other = wider(tests::tiny_model());
  trainer.send(SetNetwork{other});
  ASSERT_TRUE(wait_for_network(trainer, other));
  trainer.send(tests::change("learning_rate", 1e6));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.divergence.id == 1 && now.state == TrainerState::paused;
  }));
  const auto then = trainer.snapshot();
  ASSERT_TRUE(then->divergence.can_roll_back) << then->divergence.text;
  trainer.send(RollBack{});
  ASSERT_TRUE(wait_for_step(trainer, then->step + 20));
  EXPECT_TRUE(std::isfinite(trainer.snapshot()->last[Metric::loss]));
  EXPECT_EQ(*trainer.snapshot()->network, other);
}

TEST(NetworkChange, OfATrainingThatDivergedLeavesNothingToRollBackTo) {
  TrainerOptions options = options_for(tests::tiny_model());
  options.optimizer = defaults_of(ops::UpdateRule::sgd);
  options.pause_on_divergence = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_step(trainer, 20));
  trainer.send(tests::change("learning_rate", 1e6));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.divergence.id == 1 && now.state == TrainerState::paused;
  }));
  const std::uint64_t notices = trainer.snapshot()->notice_id;
  const models::Model other = wider(tests::tiny_model());
  trainer.send(SetNetwork{other});
  ASSERT_TRUE(wait_for_network(trainer, other));
  EXPECT_FALSE(trainer.snapshot()->divergence.can_roll_back);
  trainer.send(RollBack{});
  ASSERT_TRUE(tests::wait_for_notice(trainer, notices + 1));
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"no weights from before"}));
}

TEST(NetworkChange, AResetBeginsTheNewNetwork) {
  TrainerOptions options = options_for(tests::tiny_classifier());
  options.start_paused = true;
  Trainer changed(options);
  FeedLog changed_feed(changed.subscribe());
  take_steps(changed, 6);
  const models::Model other = wider(tests::tiny_classifier());
  changed.send(SetNetwork{other});
  changed.send(Reset{});
  ASSERT_TRUE(wait_until(changed, [](const Snapshot& now) { return now.generation == 1; }));
  take_steps(changed, 6);
  options.model = other;
  Trainer fresh(options);
  FeedLog fresh_feed(fresh.subscribe());
  take_steps(fresh, 6);
  ASSERT_EQ(changed_feed.curves().size(), 2u);
  EXPECT_EQ(changed_feed.curves()[1], fresh_feed.curves()[0]);
}

nlohmann::json read_head(const std::filesystem::path& run) {
  std::ifstream file(run / "run.json");
  return nlohmann::json::parse(file);
}

class NetworkChangeOfARun : public testing::Test {
 protected:
  /// Seven steps, a change, and `after` more.
  void train(const models::Model& first, const models::Model& second, int after) {
    options = options_for(first);
    options.run_dir = run.string();
    options.start_paused = true;
    options.checkpoint_epochs = 0;  // one at the end of an epoch would depend on the clock
    Trainer trainer(options);
    FeedLog feed(trainer.subscribe());
    take_steps(trainer, 3);
    trainer.send(SaveCheckpoint{});
    take_steps(trainer, 4);
    trainer.send(SetNetwork{second});
    ASSERT_TRUE(wait_for_network(trainer, second));
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.checkpoint_step == 7; }));
    take_steps(trainer, after);
    curve = feed.curves()[0];
    trainer.send(Finish{});
    ASSERT_TRUE(trainer.wait(tests::kPatience));
    ASSERT_EQ(trainer.snapshot()->state, TrainerState::finished) << trainer.snapshot()->notice;
    weights = *trainer.ending().parameters;
  }

  /// What run.json asks for, from the run's newest checkpoint.
  TrainerOptions options_to_resume() const {
    TrainerOptions resumed = options_for(runs::model_in(read_head(run)));
    resumed.resume_dir = run.string();
    resumed.start_paused = true;
    return resumed;
  }

  tests::TemporaryFolder folder;
  std::filesystem::path run = folder / "run";
  TrainerOptions options;
  std::vector<float> curve, weights;
};

TEST_F(NetworkChangeOfARun, IsGoneOnWithBitForBit) {
  const models::Model other = wider(tests::tiny_classifier());
  train(tests::tiny_classifier(), other, 5);
  std::filesystem::remove(run / "checkpoints/step-000000012.safetensors");  // the one of the change is left
  Trainer resumed(options_to_resume());
  FeedLog feed(resumed.subscribe());
  ASSERT_TRUE(wait_for_state(resumed, TrainerState::paused));
  EXPECT_EQ(*resumed.snapshot()->network, other);
  EXPECT_EQ(resumed.snapshot()->step, 7u);
  take_steps(resumed, 5);
  std::vector<float> losses;
  for (const Point& point : feed.steps()) losses.push_back(point[Metric::loss]);
  EXPECT_EQ(losses, curve) << "with the seven steps before it";
  resumed.send(Finish{});
  ASSERT_TRUE(resumed.wait(tests::kPatience));
  EXPECT_EQ(*resumed.ending().parameters, weights);
}

TEST_F(NetworkChangeOfARun, TellsEachFileOfWhichNetworkItIs) {
  const models::Model first = tests::tiny_classifier(), other = wider(first);
  train(first, other, 2);
  const std::filesystem::path before = run / "checkpoints/step-000000003.safetensors";
  const std::filesystem::path after = run / "checkpoints/step-000000007.safetensors";
  const auto described = [](const std::filesystem::path& file) {
    std::map<std::string, std::string> metadata;
    files::read_safetensors(file, &metadata);
    return models::described_in_file(metadata);
  };
  EXPECT_EQ(described(before), first);
  EXPECT_EQ(described(after), other);
  EXPECT_EQ(runs::model_in(read_head(run)), other);
  EXPECT_EQ(read_head(run)["configuration"]["network"], models::text_of(first));
  EXPECT_EQ(load_checkpoint(before, first).step, 3u);
  EXPECT_EQ(load_checkpoint(after, other).step, 7u);
  const auto refusal = [](auto load) -> std::string {
    try {
      load();
      return "";
    } catch (const core::BadInput& error) {
      return error.what();
    }
  };
  EXPECT_TRUE(
      tests::holds(refusal([&] { load_checkpoint(before, other); }),
                   {"step-000000003.safetensors is a checkpoint of model tiny classifier as it was with "
                    "other layers"}));
  EXPECT_EQ(runs::load_trained_network(run, "last").settings.model, other);
  EXPECT_TRUE(tests::holds(refusal([&] { runs::load_trained_network(run, before.filename().string()); }),
                           {"holds weights of another network than tiny classifier is in this run now"}));
  EXPECT_EQ(runs::load_trained_network(before, "").settings.model, first);
  std::filesystem::remove(after);
  std::filesystem::remove(run / "checkpoints/step-000000009.safetensors");
  std::filesystem::remove(run / "checkpoints/best.safetensors");
  Trainer resumed(options_to_resume());
  ASSERT_TRUE(resumed.wait(tests::kPatience));
  EXPECT_TRUE(
      tests::holds(resumed.snapshot()->notice, {"has no checkpoint to go on from", "with other layers"}));
}

TEST_F(NetworkChangeOfARun, LeavesAFileOfInitialWeightsAside) {
  const std::string file = (folder / "first.safetensors").string();
  models::save_parameters(file, tests::tiny_classifier(),
                          models::initial_parameters(tests::tiny_classifier(), 77));
  options = options_for(tests::tiny_classifier());
  options.init_file = file;
  options.run_dir = run.string();
  options.start_paused = true;
  const models::Model other = wider(tests::tiny_classifier());
  {
    Trainer trainer(options);
    take_steps(trainer, 2);
    EXPECT_EQ(read_head(run)["configuration"]["init"], file);
    trainer.send(SetNetwork{other});
    ASSERT_TRUE(wait_for_network(trainer, other));
    trainer.send(Finish{});
    ASSERT_TRUE(trainer.wait(tests::kPatience));
  }
  EXPECT_NE(read_head(run)["current"].value("init", ""), file);
  Trainer resumed(options_to_resume());
  EXPECT_TRUE(wait_for_state(resumed, TrainerState::paused)) << resumed.snapshot()->notice;
}

/// All that can be asked for at once.
ObservationRequest everything(const models::Model& model) {
  ObservationRequest request;
  request.inspected_image = 3;
  request.inspected_parameters = 1;
  request.distributions = request.feature_probe = request.latents.map = true;
  if (models::latent_of(model).decodes) {
    for (int i = 0; i < 3; ++i) request.latents.pictures.push_back({i, i + 1, 0.5f, {1.0f}});
  }
  if (model.loss == models::Loss::mse) {
    request.comparison.emplace();
    request.comparison->reconstructors = {{}, {std::nullopt, core::Precision::bf16, ""}};
    request.comparison->count = 5;
  }
  request.activations_of = model.layers.size();
  return request;
}

/// What is seen is of the network that it says it is of.
void expect_of(const Observations& seen, const models::Model& model) {
  if (seen.inspection) {
    EXPECT_EQ(seen.inspection->outputs.size(), model.layers.size() + 1);
    for (const models::Parameter& tensor : models::parameter_layout(model).parameters)
      EXPECT_TRUE(tensor.layer != 0 || !tensor.learned || seen.inspection->has(tensor)) << tensor.name;
  }
  if (seen.activations) {
    ASSERT_LE(seen.activations->output, model.layers.size());
    models::Extent extent{model.height, model.width, model.channels};
    for (std::size_t i = 0; i < seen.activations->output; ++i) extent.pass(model.layers[i]);
    EXPECT_EQ(seen.activations->channels, static_cast<std::size_t>(extent.channels));
  }
  if (seen.latents) {
    EXPECT_EQ(seen.latents->latent.layer, models::latent_of(model).layer);
  }
  if (seen.weights) {
    EXPECT_GE(seen.weights->parameters.size(), models::parameter_layout(model).elements);
  }
  if (!seen.distributions) return;
  for (const auto& moment : seen.distributions->moments) {
    EXPECT_LE(moment->distributions.rbegin()->first.first, model.layers.size());
    EXPECT_NE(moment->find(model.layers.size(), Quantity::activations), nullptr);
  }
}

struct Edited {
  std::string name;
  bool classifies = false;
  float joint = 0;
};

class LiveEdits : public testing::TestWithParam<Edited> {};

INSTANTIATE_TEST_SUITE_P(NetworkChange, LiveEdits,
                         testing::Values(Edited{"classifier", true}, Edited{"autoencoder"},
                                         Edited{"joint", false, 0.5f}),
                         [](const auto& which) { return which.param.name; });

/// 200 of them in all.
TEST_P(LiveEdits, AtRandomWithEverythingSeenNeverFail) {
  constexpr int kEdits = 67;
  constexpr std::size_t kMostLayers = 11;
  constexpr std::size_t kMostParameters = 6000;
  const auto& [name, classifies, joint] = GetParam();
  const models::Model base = classifies ? tests::tiny_classifier() : tests::tiny_model();
  TrainerOptions options = options_for(base);
  options.select = "";  // what suits the device, whatever that is for the new shapes
  options.optimizer.joint = joint;
  options.optimizer.clip_norm = 1;
  options.optimizer.learning_rate = 0.001f;
  options.shown_images = 4;
  options.image_seconds = 0;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 1));
  tests::Dice dice(classifies ? 11 : joint > 0 ? 12 : 13);
  int taken = 0, refused = 0, seen_of_new = 0;
  for (int edit = 0; edit < kEdits; ++edit) {
    const auto before = trainer.snapshot();
    const models::Model& now = *before->network;
    const bool large =
        now.layers.size() > kMostLayers || models::parameter_layout(now).count > kMostParameters;
    const models::Model wanted = large ? base : tests::random_edit(dice, now, edit);
    // Whatever else was asked for just before.
    if (edit % 9 == 4) trainer.send(CheckDeterminism{});
    if (edit % 11 == 5) trainer.send(FindRate{{.steps = 20}});
    if (edit % 13 == 6) trainer.send(Reset{});
    if (edit % 5 == 3) {
      const bool wide = before->selection.precision == core::Precision::fp32;
      trainer.send(Select{{wide ? core::Precision::bf16 : core::Precision::fp32, {}}});
    }
    trainer.send(SetNetwork{wanted});
    trainer.send(Observe{everything(tests::fits(wanted) ? wanted : now)});
    trainer.send(CopyWeights{static_cast<std::uint64_t>(edit + 1)});
    ASSERT_TRUE(wait_until(
        trainer, [&](const Snapshot& s) { return *s.network == wanted || s.notice_id > before->notice_id; }));
    const auto after = trainer.snapshot();
    ASSERT_EQ(after->state, TrainerState::running) << after->notice;
    EXPECT_EQ(*after->network == wanted, tests::fits(wanted)) << after->notice << "\n"
                                                              << models::to_toml(wanted);
    taken += *after->network == wanted;
    refused += *after->network != wanted;
    ASSERT_TRUE(wait_for_step(trainer, after->step + 2));
    if (edit % 8 == 0) {
      ASSERT_TRUE(tests::eventually([&] { return trainer.observations().inspection != nullptr; }));
      ++seen_of_new;
    }
    expect_of(seen_of_network(trainer.observations(), trainer.snapshot()->network_number), *after->network);
    if (HasFailure()) break;
  }
  EXPECT_GT(taken, 20);
  EXPECT_GT(refused, 3);
  EXPECT_GT(seen_of_new, 5);
  EXPECT_EQ(trainer.snapshot()->divergence.id, 0u) << trainer.snapshot()->divergence.text;
  for (const Point& point : feed.steps()) ASSERT_TRUE(std::isfinite(point[Metric::loss])) << point.step;
}

TEST(NetworkChange, WhoWaitsForWeightsGetsThoseOfTheNewNetwork) {
  TrainerOptions options = options_for(tests::tiny_classifier());
  options.start_paused = true;
  Trainer trainer(options);
  trainer.send(CopyWeights{1});
  ASSERT_TRUE(tests::eventually([&] { return trainer.observations().weights != nullptr; }));
  const models::Model other = wider(tests::tiny_classifier());
  trainer.send(SetNetwork{other});
  ASSERT_TRUE(wait_for_network(trainer, other));
  ASSERT_TRUE(tests::eventually([&] {
    const Observations seen = trainer.observations();
    return seen.network == 1 && seen.weights != nullptr;
  }));
  EXPECT_EQ(trainer.observations().weights->parameters.size(), models::parameter_layout(other).elements);
}

TEST(NetworkChange, ALayerThatIsNoMoreIsLookedAtInSilence) {
  TrainerOptions options = options_for(tests::tiny_classifier());
  options.start_paused = true;
  Trainer trainer(options);
  Observe observe;
  observe.request.activations_of = 6;
  trainer.send(observe);
  ASSERT_TRUE(tests::eventually([&] { return trainer.observations().activations != nullptr; }));
  models::Model shorter = tests::tiny_classifier();
  shorter.layers.erase(shorter.layers.begin() + 1);
  trainer.send(SetNetwork{shorter});
  ASSERT_TRUE(wait_for_network(trainer, shorter));
  EXPECT_EQ(trainer.observations().activations, nullptr);
  ASSERT_TRUE(tests::wait_for_an_idle_round(trainer));
  EXPECT_EQ(trainer.snapshot()->notice, "");
  observe.request.activations_of = 5;
  trainer.send(observe);
  ASSERT_TRUE(tests::eventually([&] { return trainer.observations().activations != nullptr; }));
  observe.request.activations_of = 7;
  trainer.send(observe);
  EXPECT_TRUE(tests::wait_for_notice(trainer, 1)) << "asked for now, it is told";
}

}  // namespace
}  // namespace warpscope::training::network_change_test
