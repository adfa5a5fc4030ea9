#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "gpu/models/parameters.h"
#include "gpu/runs/references.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::trainer_commands_test {
namespace {

using tests::all_of;
using tests::FeedLog;
using tests::tiny_trainer_options;
using tests::wait_for_an_idle_round;
using tests::wait_for_commands;
using tests::wait_for_notice;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

TEST(Command, SwitchesPutMarkersWithOldAndNewNames) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 3; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 3));
  plan::Selection selection = all_of("loops");
  trainer.send(Select{selection});
  selection.variants[ops::Op::conv2d_forward] = "reference";
  selection.variants[ops::Op::relu_forward] = "onednn";
  trainer.send(Select{selection});
  trainer.send(tests::change("learning_rate", 0.05));
  trainer.send(tests::change("learning_rate", 0.05));
  trainer.send(tests::change("batch", 4));
  trainer.send(tests::change("batch", 4));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.settings->batch == 4; }));
  EXPECT_EQ(feed.markers(),
            (std::vector<std::string>{"conv2d.forward: loops -> reference; relu.forward: loops -> onednn",
                                      "learning rate: 0.1 -> 0.05", "batch: 8 -> 4"}))
      << "what changes nothing puts no marker";
  for (const Marker& marker : feed.all<Marker>()) EXPECT_EQ(marker.step, 3u);  // there are three
  const auto now = trainer.snapshot();
  EXPECT_EQ(now->selection, selection);
  EXPECT_EQ(now->settings->optimizer.learning_rate, 0.05f);
  trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 4));
  EXPECT_EQ(feed.steps().back()[Metric::learning_rate], 0.05f);
  EXPECT_EQ(trainer.snapshot()->notice, "");
}

TEST(Command, SwitchesKeepTheCurve) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  options.steps = 100;
  Trainer steady(options);
  FeedLog steady_feed(steady.subscribe());
  steady.send(Resume{});
  Trainer switched(options);
  FeedLog feed(switched.subscribe());
  switched.send(Resume{});
  for (int i = 0; !switched.wait(0.002); ++i)
    switched.send(Select{all_of(i % 2 == 0 ? "reference" : "loops")});
  ASSERT_TRUE(steady.wait(tests::kPatience));
  const auto curve = steady_feed.curves()[0];
  const auto other = feed.curves()[0];
  ASSERT_EQ(other.size(), curve.size());
  for (std::size_t i = 0; i < curve.size(); ++i) EXPECT_NEAR(other[i], curve[i], 1e-4) << "step " << i + 1;
}

TEST(Command, ComingFasterThanTheyAreCarriedOutDoNotStopTheTraining) {
  TrainerOptions options = tiny_trainer_options();
  options.steps = 20;
  Trainer trainer(options);
  // Ten at each look at the trainer, and it publishes a snapshot after each that it carries out.
  EXPECT_TRUE(wait_until(trainer, [&](const Snapshot& now) {
    for (int k = 0; k < 10; ++k) trainer.send(CheckDeterminism{});
    return now.state == TrainerState::finished;
  }));
  EXPECT_EQ(trainer.snapshot()->step, 20u);
}

TEST(Command, WhatCannotBeDoneIsToldAndTrainingGoesOn) {
  Trainer trainer(tiny_trainer_options());
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 5));
  const auto before = trainer.snapshot()->settings;
  plan::Selection unknown = all_of("loops");
  unknown.variants[ops::Op::conv2d_forward] = "winograd";
  plan::Selection fp16 = all_of("loops");
  fp16.precision = core::Precision::fp16;
  Change half = tests::change("learning_rate", 0.2);  // could be, by itself
  half.settings.set("batch", std::int64_t{41});
  half.settings.set("crop", std::int64_t{2});
  const std::vector<std::pair<Command, std::string>> bad{
      {Select{unknown}, "conv2d.forward=winograd cannot run in conv1: there is no such variant on cpu"},
      {Select{fp16}, "fp16 is not possible on cpu"},
      {tests::change("batch", 41), "batch size 41 is not between 1 and the 40 training images"},
      {tests::change("batch", 0), "batch must be 1 or more, not 0"},
      {tests::change("learning_rate", -1.0), "learning rate must be 0 or more, not -1"},
      {tests::change("zscore", -1.0), "loss spike must be 0 or more, not -1"},
      {tests::change("learning_rate", std::nan("")), "learning rate must be at most 1000000, not nan"},
      {tests::change("crop", 17), "crop must be at most 16, not 17"},
      {tests::change("seed", 6),
       "seed cannot change so while a training runs: it is set when a training starts"},
      {tests::change("precision", "fp16"),
       "precision cannot change so while a training runs: it is set with"},
      {half, "batch size 41 is not between"},
      {Save{"/nonexistent/folder/weights.safetensors"}, "/nonexistent/folder/weights.safetensors"},
  };
  std::uint64_t notices = 0;
  for (const auto& [command, part] : bad) {
    trainer.send(command);
    ASSERT_TRUE(wait_for_notice(trainer, ++notices)) << part;
    const auto now = trainer.snapshot();
    EXPECT_TRUE(tests::holds(now->notice, {part}));
    EXPECT_EQ(now->notice_id, notices);
    EXPECT_EQ(now->state, TrainerState::running);
    EXPECT_EQ(now->selection, all_of("loops"));
    EXPECT_EQ(now->settings, before) << "all of it or nothing";
    ASSERT_TRUE(wait_for_step(trainer, now->step + 3));
  }
  EXPECT_TRUE(feed.markers().empty());
  feed.curves();
}

TrainingSettings with(const AugmentSettings& augment) {
  TrainingSettings settings;
  settings.augment = augment;
  return settings;
}

TEST(Command, AChangeOfManySettingsIsOne) {
  TrainerOptions options = tiny_trainer_options();  // 40 images, 8 at a time
  options.optimizer.per_sample = true;
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 2; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 2));
  Change change;  // valid only as a whole
  change.settings.set("update", "batch");
  change.settings.set("mixup", 0.5);
  change.settings.set("accumulate", std::int64_t{10});
  change.settings.set("batch", std::int64_t{4});
  change.settings.set("steps", std::int64_t{5});
  trainer.send(change);
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_EQ(trainer.snapshot()->step, 5u) << trainer.snapshot()->notice;
  EXPECT_EQ(feed.markers(),
            (std::vector<std::string>{"mixup: off -> 0.5; batch: 8 -> 4; micro-batches: 1 -> 10; "
                                      "update: per_sample -> batch; steps: no limit -> 5"}));
}

TEST(Command, ChangesOfDifferentSettingsDoNotUndoEachOther) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  trainer.send(tests::change("learning_rate", 0.05));
  trainer.send(tests::change("weight_decay", 0.5));
  ASSERT_TRUE(
      wait_until(trainer, [](const Snapshot& now) { return now.settings->optimizer.weight_decay == 0.5f; }));
  EXPECT_EQ(trainer.snapshot()->settings->optimizer.learning_rate, 0.05f);
}

TEST(Command, AugmentationChangesWhileItTrains) {
  Trainer trainer(tiny_trainer_options());
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 5));
  const AugmentSettings some{.flip = true, .crop = 2}, all{.flip = true, .crop = 1, .mixup = 0.5f};
  for (const AugmentSettings& augment : {some, some, all, AugmentSettings{}}) {
    trainer.send(Change{difference(with(trainer.snapshot()->settings->augment), with(augment))});
    ASSERT_TRUE(
        tests::wait_until(trainer, [&](const Snapshot& now) { return now.settings->augment == augment; }));
    ASSERT_TRUE(wait_for_step(trainer, trainer.snapshot()->step + 20));
    EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
  }
  EXPECT_EQ(feed.markers(),
            (std::vector<std::string>{"flip: off -> on; crop: off -> 2", "crop: 2 -> 1; mixup: off -> 0.5",
                                      "flip: on -> off; crop: 1 -> off; mixup: 0.5 -> off"}));
  EXPECT_EQ(trainer.snapshot()->notice, "");
}

TEST(Command, AnotherSpikeThresholdCountsFromTheNextStep) {
  TrainerOptions options = tiny_trainer_options();
  options.pause_on_divergence = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 60));  // the first 50 losses are not judged
  EXPECT_EQ(trainer.snapshot()->divergence.id, 0u);
  trainer.send(tests::change("zscore", 1e-3));
  trainer.send(tests::change("zscore", 1e-3));
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_EQ(trainer.snapshot()->settings->spikes.threshold, 1e-3);
  EXPECT_TRUE(tests::holds(trainer.snapshot()->divergence.text, {"standard deviations above its mean"}));
  EXPECT_EQ(feed.markers(), (std::vector<std::string>{"loss spike: off -> 0.001"}));
  trainer.send(tests::change("zscore", 0.0));
  trainer.send(Resume{});
  ASSERT_TRUE(wait_for_step(trainer, trainer.snapshot()->step + 100));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
  EXPECT_EQ(trainer.snapshot()->divergence.id, 1u);
}

TEST(Command, AChangeThatMakesTheNetworkForgetPausesWithinTwentySteps) {
  TrainerOptions options = tiny_trainer_options();
  options.model = tests::tiny_classifier();
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(48, 12));
  options.optimizer = defaults_of(ops::UpdateRule::adamw);
  options.optimizer.learning_rate = 0.01f;
  options.pause_on_divergence = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 800));
  trainer.send(tests::change("crop", 1));  // which begins the statistics of losses anew
  ASSERT_TRUE(wait_for_step(trainer, trainer.snapshot()->step + 100));
  trainer.send(tests::change("weight_decay", 100.0));  // each step leaves nothing of the weights before it
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_TRUE(tests::holds(trainer.snapshot()->divergence.text, {"has forgotten what it had learned"}));
  EXPECT_LE(trainer.snapshot()->divergence.step, feed.all<Marker>().back().step + 20);
}

TEST(Command, PauseAndResumeTogetherDoNotHideDivergence) {
  TrainerOptions options = tiny_trainer_options();
  options.pause_on_divergence = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_step(trainer, 5));
  trainer.send(tests::change("learning_rate", 1e6));
  for (int i = 0; i < 50; ++i) {
    trainer.send(Pause{});
    trainer.send(Resume{});
  }
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.state == TrainerState::paused && now.divergence.id > 0 && !now.notice.empty();
  }));
}

TEST(Command, AreAnsweredByTheirNumbers) {
  Trainer trainer(tiny_trainer_options());
  ASSERT_TRUE(wait_for_step(trainer, 1));
  trainer.send(tests::change("batch", 4), 1);
  trainer.send(tests::change("batch", 1'000'000), 2);
  trainer.send(Pause{});
  trainer.send(Select{}, 3);
  trainer.send(ReturnTo{99}, 4);
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.answers.last == 4; }));
  EXPECT_EQ(trainer.snapshot()->answers.refused, (std::vector<std::uint64_t>{2, 4}));
  trainer.send(Finish{});
  trainer.send(tests::change("batch", 8), 5);
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.answers.last == 5; }));
  EXPECT_TRUE(trainer.snapshot()->answers.is_refused(5)) << "it has finished";
}

TEST(Command, ResetStartsTheSameCurveInANewGeneration) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 12; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 12));
  trainer.send(Reset{});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 1; }));
  const auto fresh = trainer.snapshot();
  EXPECT_EQ(fresh->step, 0u);
  EXPECT_EQ(fresh->epoch, 0.0);
  EXPECT_EQ(fresh->seconds, 0.0);
  EXPECT_EQ(fresh->state, TrainerState::paused);
  for (int i = 0; i < 12; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 12));
  const auto curves = feed.curves();
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].size(), 12u);
  EXPECT_EQ(curves[1], curves[0]);
  const auto restarts = feed.all<Restart>();
  ASSERT_EQ(restarts.size(), 1u);
  EXPECT_EQ(restarts[0].generation, 1u);
}

TEST(Command, ResetWhileRunningGoesOnRunning) {
  Trainer trainer(tiny_trainer_options());
  FeedLog feed(trainer.subscribe());
  for (std::uint64_t generation = 1; generation <= 4; ++generation) {
    ASSERT_TRUE(wait_for_step(trainer, 20));
    trainer.send(Reset{});
    ASSERT_TRUE(wait_until(trainer, [=](const Snapshot& now) { return now.generation == generation; }));
  }
  ASSERT_TRUE(wait_for_step(trainer, 20));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
  const auto curves = feed.curves();
  ASSERT_EQ(curves.size(), 5u);
  for (const auto& curve : curves) {
    ASSERT_GE(curve.size(), 20u);
    EXPECT_TRUE(std::equal(curve.begin(), curve.begin() + 20, curves[0].begin()));
  }
}

TEST(Command, ResetDropsStepsAskedForBefore) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  for (int i = 0; i < 50; ++i) trainer.send(StepOnce{});
  trainer.send(Reset{});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 1; }));
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  EXPECT_EQ(trainer.snapshot()->step, 0u);
}

TEST(Command, FinishSavesAndFinishes) {
  const tests::TemporaryFolder folder;
  const std::string file = (folder / "end.safetensors").string();
  TrainerOptions options = tiny_trainer_options();
  options.save_file = file;
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 6; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 6));
  trainer.send(Finish{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::finished);
  EXPECT_EQ(feed.tests().back().step, 6u);
  Engine engine(tests::tiny_engine_options(), options.data_set, core::open_device("cpu"));
  tests::run_steps(engine, 6);
  EXPECT_EQ(models::load_parameters(file, options.model), engine.parameters());
}

TEST(Command, FinishDropsStepsAskedForBefore) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  for (int i = 0; i < 50; ++i) trainer.send(StepOnce{});
  trainer.send(Finish{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const std::size_t steps = feed.curves()[0].size();
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  EXPECT_EQ(feed.curves()[0].size(), steps) << "stepped on after the end";
}

TEST(Command, FinishThatCannotSaveFails) {
  TrainerOptions options = tiny_trainer_options();
  options.save_file = "/nonexistent/folder/weights.safetensors";
  Trainer trainer(options);
  trainer.send(Finish{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::failed);
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"/nonexistent/folder/weights.safetensors"}));
}

TEST(Command, AFinishedTrainingTakesNoCommandThatTrains) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = tiny_trainer_options();
  options.steps = 10;
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  trainer.send(Pause{});
  trainer.send(Resume{});
  trainer.send(StepOnce{});
  trainer.send(Select{all_of("reference")});
  trainer.send(tests::change("batch", 4));
  trainer.send(tests::change("learning_rate", 0.01));
  trainer.send(Finish{});
  ASSERT_TRUE(wait_for_commands(trainer));
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  EXPECT_EQ(feed.curves()[0].size(), 10u);
  EXPECT_TRUE(feed.markers().empty());
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::finished);
  EXPECT_EQ(trainer.snapshot()->selection, all_of("loops"));
  EXPECT_EQ(trainer.snapshot()->settings->batch, 8);

  trainer.send(Save{(folder / "later.safetensors").string()});
  ASSERT_TRUE(wait_until(
      trainer, [&](const Snapshot&) { return std::filesystem::exists(folder / "later.safetensors"); }));
  trainer.send(Reset{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto curves = feed.curves();
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].size(), 10u);
  EXPECT_EQ(curves[1], curves[0]);
}

TEST(Command, AFinishedTrainingGoesOnWithMoreSteps) {
  const auto losses_of = [](const std::vector<std::uint64_t>& limits, const std::string& run) {
    TrainerOptions options = tiny_trainer_options();
    options.steps = limits.front();
    options.run_dir = run;
    Trainer trainer(options);
    FeedLog feed(trainer.subscribe());
    EXPECT_TRUE(trainer.wait(tests::kPatience));
    for (std::size_t i = 1; i < limits.size(); ++i) {
      trainer.send(tests::change("steps", static_cast<std::int64_t>(limits[i])));
      EXPECT_TRUE(wait_for_state(trainer, TrainerState::paused)) << trainer.snapshot()->notice;
      trainer.send(Resume{});
      EXPECT_TRUE(wait_for_step(trainer, limits[i]));
      EXPECT_TRUE(wait_for_state(trainer, TrainerState::finished));
    }
    return feed.curves();
  };
  const tests::TemporaryFolder folder;
  const std::string run = (folder / "run").string();
  EXPECT_EQ(losses_of({10, 16, 25}, run), losses_of({25}, ""));
  const nlohmann::json head = runs::read_head(run);
  EXPECT_EQ(head.at("status"), "finished");
  EXPECT_EQ(head.at("steps"), 25);
}

TEST(Command, AFinishedTrainingThatIsLeftIsNoFinishedRun) {
  for (const Command& command : {Command{Reset{}}, Command{RewindTo{5}}}) {
    const tests::TemporaryFolder folder;
    TrainerOptions options = tiny_trainer_options();
    options.steps = 10;
    options.keeps_moments = true;
    options.run_dir = (folder / "run").string();
    Trainer trainer(options);
    ASSERT_TRUE(trainer.wait(tests::kPatience));
    trainer.send(command);
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused)) << trainer.snapshot()->notice;
    EXPECT_TRUE(wait_until(trainer, [&](const Snapshot&) {
      return runs::read_head(options.run_dir).at("status") == "running";
    }));
  }
}

TEST(Command, AFinishedTrainingWithoutMoreStepsStaysFinished) {
  TrainerOptions options = tiny_trainer_options();
  options.steps = 10;
  Trainer trainer(options);
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  trainer.send(tests::change("steps", 5));
  trainer.send(tests::change("test_every", 3));
  ASSERT_TRUE(wait_for_commands(trainer));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::finished);
  EXPECT_EQ(trainer.snapshot()->settings->test_every, 3u);
  trainer.send(tests::change("batch", 4));
  ASSERT_TRUE(wait_for_commands(trainer));
  EXPECT_EQ(trainer.snapshot()->settings->batch, 8);
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"has ended", "batch", "more epochs"}))
      << trainer.snapshot()->notice;
}

TEST(Command, SavesWhileTraining) {
  const tests::TemporaryFolder folder;
  const std::string file = (folder / "now.safetensors").string();
  Trainer trainer(tiny_trainer_options());
  ASSERT_TRUE(wait_for_step(trainer, 5));
  trainer.send(Save{file});
  ASSERT_TRUE(wait_until(trainer, [&](const Snapshot&) { return std::filesystem::exists(file); }));
  EXPECT_EQ(models::load_parameters(file, tests::tiny_model()).size(),
            models::parameter_layout(tests::tiny_model()).elements);
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
}

/// The n-th command of a wild user.
Command random_command(std::uint64_t n, const std::string& file) {
  const auto draw = [n](std::uint64_t which, std::uint64_t below) {
    return core::random_bits(4, 8 * n + which) % below;
  };
  switch (draw(0, 12)) {
    case 0:
      return Pause{};
    case 1:
    case 2:
      return Resume{};
    case 3:
    case 4:
      return StepOnce{};
    case 5:
      return Reset{};
    case 6:
    case 7: {
      plan::Selection selection = all_of(draw(1, 2) == 0 ? "loops" : "reference");
      if (draw(2, 4) == 0) selection.variants[ops::Op::relu_forward] = "nothing";
      return Select{selection};
    }
    case 8:
      return tests::change("learning_rate",
                           draw(1, 5) == 0 ? std::nan("") : 0.01 * static_cast<double>(draw(2, 10)));
    case 9:
      return tests::change("batch", static_cast<int>(draw(1, 45)));
    case 10:
      return Save{draw(1, 3) == 0 ? "/nonexistent/folder/w.safetensors" : file};
    default:
      return draw(1, 20) == 0 ? Command{Finish{}} : Command{Resume{}};
  }
}

TEST(Command, SurvivesThreeHundredInRandomOrder) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = tiny_trainer_options();
  options.pause_on_divergence = true;
  options.shown_images = 4;
  options.run_dir = (folder / "run").string();
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 1));
  std::thread user([&] {
    for (std::uint64_t n = 0; n < 300; ++n) {
      trainer.send(random_command(n, (folder / "w.safetensors").string()));
      // Its rhythm: some commands come one by one, others while one is carried out.
      if (n % 3 == 0) tests::wait_for_an_idle_round(trainer);
    }
  });
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      const auto snapshot = trainer.snapshot();
      EXPECT_NE(snapshot->state, TrainerState::failed) << snapshot->notice;
      if (const auto images = trainer.images()) images->acquire();
      const auto extra = trainer.subscribe();
      std::this_thread::yield();
    }
  });
  user.join();
  trainer.send(Resume{});
  trainer.send(Finish{});
  const bool ended = trainer.wait(tests::kPatience);
  done = true;
  reader.join();
  ASSERT_TRUE(ended);
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::finished) << trainer.snapshot()->notice;
  const auto curves = feed.curves();
  EXPECT_EQ(curves.size(), trainer.snapshot()->generation + 1);
  EXPECT_EQ(curves.back().size(), trainer.snapshot()->step);
}

}  // namespace
}  // namespace warpscope::training::trainer_commands_test
