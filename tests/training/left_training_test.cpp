// Trainings that a reset, another network, divergence or the end of the window leaves, and the way back to them.

#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/figure_table.h"
#include "gpu/runs/run_figures.h"
#include "gpu/runs/summary.h"
#include "gpu/runs/unsaved.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::left_training_test {
namespace {

namespace fs = std::filesystem;
using tests::FeedLog;
using tests::paused_classifier_options;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

void take_steps(Trainer& trainer, int count) {
  const std::uint64_t step = trainer.snapshot()->step;
  for (int i = 0; i < count; ++i) trainer.send(StepOnce{});
  wait_for_step(trainer, step + static_cast<std::uint64_t>(count));
}

bool reset(Trainer& trainer) {
  const std::uint64_t before = trainer.snapshot()->training;
  trainer.send(Reset{});
  return wait_until(trainer, [=](const Snapshot& now) { return now.training != before; });
}

bool return_to(Trainer& trainer, std::uint64_t number) {
  trainer.send(ReturnTo{number});
  return wait_until(trainer, [=](const Snapshot& now) { return now.training == number; });
}

/// Losses of a training that nobody interrupts.
std::vector<float> undisturbed(TrainerOptions options, int steps) {
  options.run_dir.clear();
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  take_steps(trainer, steps);
  return feed.curves()[0];
}

models::Model wider(models::Model model) {
  model.layers[0].out_channels = 6;
  models::fit_layers(model);
  return model;
}

nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

std::vector<nlohmann::json> read_lines(const fs::path& run) {
  std::ifstream file(run / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(LeftTraining, AnUndoneResetGoesOnBitForBit) {
  const TrainerOptions options = paused_classifier_options();
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  take_steps(trainer, 9);
  const auto before = trainer.snapshot();
  ASSERT_TRUE(reset(trainer));
  ASSERT_EQ(trainer.snapshot()->left->size(), 1u);
  EXPECT_EQ(trainer.snapshot()->left->front().step, 9u);
  take_steps(trainer, 4);
  ASSERT_TRUE(return_to(trainer, 0));
  const auto back = trainer.snapshot();
  EXPECT_EQ(back->step, 9u);
  EXPECT_EQ(back->epoch, before->epoch);
  EXPECT_EQ(back->seconds, before->seconds);
  EXPECT_EQ(back->state, TrainerState::paused);
  take_steps(trainer, 9);
  const auto curves = feed.curves();
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[2], undisturbed(options, 18));
  ASSERT_TRUE(return_to(trainer, 1)) << "and the training that was left for it";
  take_steps(trainer, 3);
  EXPECT_EQ(feed.curves()[3], std::vector<float>(curves[2].begin(), curves[2].begin() + 7));
}

TEST(LeftTraining, AnUndoneResetOfOneThatRunsGoesOnRunning) {
  TrainerOptions options = paused_classifier_options();
  options.start_paused = false;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 20));
  ASSERT_TRUE(reset(trainer));
  ASSERT_TRUE(return_to(trainer, 0));
  const std::uint64_t step = trainer.snapshot()->step;
  EXPECT_GE(step, 20u);
  ASSERT_TRUE(wait_for_step(trainer, step + 20));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
  feed.curves();
}

TEST(LeftTraining, AnUndoneNetworkComesBackWithItsWeights) {
  const TrainerOptions options = paused_classifier_options();
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  take_steps(trainer, 9);
  trainer.send(SetNetwork{wider(options.model)});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.training == 1; }));
  take_steps(trainer, 5);
  ASSERT_TRUE(return_to(trainer, 0));
  EXPECT_EQ(*trainer.snapshot()->network, options.model);
  take_steps(trainer, 9);
  EXPECT_EQ(feed.curves().back(), undisturbed(options, 18));
}

TEST(LeftTraining, ComesBackWithItsSettings) {
  const TrainerOptions options = paused_classifier_options();
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  take_steps(trainer, 9);
  const auto before = trainer.snapshot()->settings;
  ASSERT_TRUE(reset(trainer));
  trainer.send(tests::change("batch", 12));
  trainer.send(tests::change("crop", 2));
  trainer.send(tests::change("schedule", "step:every=1,factor=0.5"));
  trainer.send(tests::change("learning_rate", 0.5));
  trainer.send(tests::change("zscore", 9.0));
  take_steps(trainer, 4);
  EXPECT_EQ(trainer.snapshot()->settings->batch, 12);
  ASSERT_TRUE(return_to(trainer, 0));
  EXPECT_EQ(*trainer.snapshot()->settings, *before);
  take_steps(trainer, 9);
  EXPECT_EQ(feed.curves().back(), undisturbed(options, 18));
  ASSERT_TRUE(return_to(trainer, 1));
  EXPECT_EQ(trainer.snapshot()->settings->batch, 12);
  EXPECT_EQ(trainer.snapshot()->settings->augment.crop, 2);
}

TEST(LeftTraining, ComesBackWithItsSettingsFromBesideAnotherNetwork) {
  const TrainerOptions options = paused_classifier_options();
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  take_steps(trainer, 9);
  trainer.send(SetNetwork{wider(options.model)});
  trainer.send(tests::change("batch", 12));
  trainer.send(tests::change("mixup", 0.5));
  take_steps(trainer, 2);
  ASSERT_TRUE(return_to(trainer, 0));
  take_steps(trainer, 9);
  EXPECT_EQ(feed.curves().back(), undisturbed(options, 18));
}

/// Brings the training to losses that leap, or are not finite.
bool diverge(Trainer& trainer) {
  const std::uint64_t id = trainer.snapshot()->divergence.id;
  trainer.send(tests::change("learning_rate", 1e6));
  for (int i = 0; i < 12; ++i) trainer.send(StepOnce{});
  return wait_until(
      trainer, [id](const Snapshot& now) { return now.divergence.id > id && now.divergence.can_roll_back; });
}

TEST(LeftTraining, ASecondDivergenceFindsHowFarItWasAtTheOlderCopy) {
  TrainerOptions options = paused_classifier_options();
  options.pause_on_divergence = true;
  options.optimizer.learning_rate = 0.001f;
  Trainer trainer(options);
  const auto remembers = [&](int accumulate) {  // its state is another one
    trainer.send(tests::change("accumulate", accumulate));
    ASSERT_TRUE(tests::wait_for_commands(trainer));
  };
  take_steps(trainer, 3);
  remembers(2);
  const double seconds = trainer.snapshot()->seconds;
  take_steps(trainer, 2);
  remembers(1);
  ASSERT_TRUE(diverge(trainer));
  EXPECT_EQ(trainer.snapshot()->divergence.back_step, 3u) << "the older copy: the newer is too new";
  trainer.send(RollBack{});
  trainer.send(Pause{});
  ASSERT_TRUE(tests::wait_for_commands(trainer));
  trainer.send(tests::change("learning_rate", 0.001));
  remembers(2);
  ASSERT_TRUE(diverge(trainer));
  const std::uint64_t newest = trainer.snapshot()->left->back().number;
  ASSERT_EQ(trainer.snapshot()->left->back().step, 3u);
  ASSERT_TRUE(return_to(trainer, newest));
  EXPECT_EQ(trainer.snapshot()->step, 3u);
  EXPECT_EQ(trainer.snapshot()->seconds, seconds);
}

TEST(LeftTraining, DivergenceLeavesTheWeightsFromBefore) {
  TrainerOptions options = paused_classifier_options();
  options.pause_on_divergence = true;
  options.start_paused = false;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 100));
  trainer.send(tests::change("learning_rate", 1e6));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.divergence.id == 1 && now.state == TrainerState::paused;
  }));
  const auto then = trainer.snapshot();
  ASSERT_TRUE(then->divergence.can_roll_back);
  ASSERT_EQ(then->left->size(), 1u);
  EXPECT_EQ(then->left->front().step, then->divergence.back_step);
  ASSERT_TRUE(reset(trainer)) << "the weights from before outlive a reset";
  ASSERT_TRUE(return_to(trainer, 0));
  EXPECT_EQ(trainer.snapshot()->step, then->divergence.back_step);
  EXPECT_TRUE(trainer.snapshot()->divergence.text.empty());
  trainer.send(tests::change("learning_rate", 0.001));
  take_steps(trainer, 5);
  EXPECT_LT(trainer.snapshot()->last[Metric::loss], 10.0f);
}

TEST(LeftTraining, StepsThatAReturnDropsCountInNoFigure) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = paused_classifier_options();
  options.run_dir = (folder / "run").string();
  options.pause_on_divergence = true;
  options.start_paused = false;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_step(trainer, 100));
  trainer.send(tests::change("learning_rate", 1e6));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.divergence.id == 1 && now.state == TrainerState::paused;
  }));
  ASSERT_TRUE(return_to(trainer, 0));
  const auto back = trainer.snapshot();
  EXPECT_EQ(back->figures.steps, back->step);
  EXPECT_EQ(back->figures.seconds, back->seconds);
  trainer.send(tests::change("learning_rate", 0.001));
  take_steps(trainer, 5);
  trainer.send(Finish{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  const RunFigures figures = as_written(trainer.snapshot()->figures);
  const nlohmann::json told = read_json(fs::path(options.run_dir) / "run.json");
  for (const Figure& figure : run_figures()) {
    if (std::isnan(figure.of(figures))) continue;
    EXPECT_EQ(told[figure.key].get<double>(), figure.of(figures)) << figure.key;
  }
  EXPECT_LT(figures.final_train_loss, 10) << "without those that diverged";
}

TEST(LeftTraining, TheNewestEightAreKept) {
  Trainer trainer(paused_classifier_options());
  for (int i = 0; i < 10; ++i) {
    take_steps(trainer, 1);
    ASSERT_TRUE(reset(trainer));
  }
  ASSERT_EQ(trainer.snapshot()->left->size(), 8u);
  EXPECT_EQ(trainer.snapshot()->left->front().number, 2u);
  const std::uint64_t notices = trainer.snapshot()->notice_id;
  trainer.send(ReturnTo{1});
  ASSERT_TRUE(tests::wait_for_notice(trainer, notices + 1));
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"not kept any more"}));
}

TEST(LeftTraining, NothingRecordedIsLostByAResetAndItsReturn) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = paused_classifier_options();
  options.run_dir = (folder / "run").string();
  {
    Trainer trainer(options);
    take_steps(trainer, 5);
    ASSERT_TRUE(reset(trainer));
    EXPECT_EQ(trainer.snapshot()->checkpoint_step, 5u) << "hours after the last one";
    take_steps(trainer, 2);
    ASSERT_TRUE(return_to(trainer, 0));
    take_steps(trainer, 1);
    trainer.send(Finish{});
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
    const RunFigures figures = trainer.snapshot()->figures;
    EXPECT_EQ(figures.steps, 6u);
    EXPECT_NEAR(figures.final_train_loss,
                read_json(fs::path(options.run_dir) / "run.json")["final_train_loss"].get<double>(), 1e-8)
        << "of all six steps, those from before the reset too";
  }
  std::vector<double> steps, losses;
  for (const nlohmann::json& line : read_lines(options.run_dir)) {
    if (!line.contains("loss") && line.value("marker", "") != "reset") continue;
    steps.push_back(line["step"]);
    losses.push_back(line.value("loss", 0.0));
  }
  EXPECT_EQ(steps, (std::vector<double>{1, 2, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::vector<double>(losses.begin(), losses.begin() + 5),
            std::vector<double>(losses.begin() + 9, losses.begin() + 14));
  EXPECT_EQ(read_json(fs::path(options.run_dir) / "run.json")["steps"], 6u);
  const fs::path checkpoints = checkpoint_folder(options.run_dir);
  EXPECT_TRUE(fs::exists(checkpoints / "step-000000006.safetensors"));
  EXPECT_TRUE(fs::exists(checkpoints / "generation-0" / "step-000000005.safetensors"));
  TrainerOptions resumed = options;
  resumed.resume_dir = std::exchange(resumed.run_dir, "");
  Trainer trainer(resumed);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_EQ(trainer.snapshot()->step, 6u);
  EXPECT_EQ(trainer.snapshot()->generation, 2u);
}

/// One that has trained for long enough to be kept.
TrainerOptions unsaved_options(const fs::path& folder) {
  TrainerOptions options = paused_classifier_options();
  options.start_paused = false;
  options.unsaved_dir = (folder / "unsaved").string();
  options.unsaved_seconds = 0.1;
  return options;
}

bool train_for_a_while(const Trainer& trainer) {
  return wait_until(trainer, [](const Snapshot& now) { return now.step > 20 && now.seconds > 0.15; });
}

std::string leave(Trainer& trainer) {
  trainer.send(Leave{});
  wait_until(trainer, [](const Snapshot& now) { return now.may_close || now.state == TrainerState::failed; });
  return trainer.snapshot()->kept_in;
}

TEST(Unsaved, IsKeptAsARunThatGoesOn) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = unsaved_options(folder.path());
  std::uint64_t step = 0;
  {
    Trainer trainer(options);
    ASSERT_TRUE(train_for_a_while(trainer));
    trainer.send(Pause{});  // it would go on once it is kept
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
    ASSERT_FALSE(leave(trainer).empty());
    step = trainer.snapshot()->step;
  }
  const auto found = runs::unsaved_trainings(options.unsaved_dir);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].step, step);
  EXPECT_EQ(found[0].model, options.model.name);
  EXPECT_EQ(read_json(found[0].folder / "run.json")["steps"], step);
  const auto lines = read_lines(found[0].folder);
  EXPECT_EQ(lines.back()["step"], step);
  options.resume_dir = found[0].folder.string();
  options.start_paused = true;
  Trainer again(options);
  ASSERT_TRUE(wait_for_state(again, TrainerState::paused));
  EXPECT_EQ(again.snapshot()->step, step);
}

TEST(Unsaved, TellsWhatWasChangedAndWhenItBegan) {
  const tests::TemporaryFolder folder;
  const TrainerOptions options = unsaved_options(folder.path());
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_step(trainer, 1));
  trainer.send(tests::change("batch", 12));
  ASSERT_TRUE(train_for_a_while(trainer));
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  const auto closed = static_cast<double>(std::time(nullptr));
  const fs::path kept = leave(trainer);
  ASSERT_FALSE(kept.empty());
  const runs::RunSummary summary = runs::summarize_settings(runs::read_run(kept));
  EXPECT_EQ(summary.batch, 12);
  EXPECT_EQ(summary.at_first.batch, options.batch);
  EXPECT_TRUE(std::isnan(summary.at_first.learning_rate)) << "it was not changed";
  EXPECT_LT(summary.started, closed - 1);
}

TEST(Unsaved, GoesOnWithItsCurveWhereverAReturnLeads) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = unsaved_options(folder.path());
  {
    Trainer trainer(options);
    ASSERT_TRUE(wait_for_step(trainer, 1));
    ASSERT_TRUE(reset(trainer));
    ASSERT_TRUE(train_for_a_while(trainer));
    ASSERT_FALSE(leave(trainer).empty());
  }
  options.resume_dir = runs::unsaved_trainings(options.unsaved_dir).at(0).folder.string();
  options.start_paused = true;
  Trainer again(options);
  FeedLog feed(again.subscribe());
  ASSERT_TRUE(wait_for_state(again, TrainerState::paused));
  const std::uint64_t step = again.snapshot()->step;
  EXPECT_EQ(again.snapshot()->generation, 0u) << "as metrics.jsonl tells of one";
  EXPECT_EQ(feed.curves().at(0).size(), step);
  again.send(SetNetwork{wider(options.model)});
  ASSERT_TRUE(wait_until(again, [](const Snapshot& now) { return now.training == 1; }));
  take_steps(again, 2);
  ASSERT_TRUE(return_to(again, 0));
  take_steps(again, 1);
  ASSERT_EQ(feed.curves().size(), 2u);
  EXPECT_EQ(feed.curves()[1].size(), step + 1);
  again.send(Finish{});
  ASSERT_TRUE(wait_for_state(again, TrainerState::finished));
  std::vector<std::uint64_t> steps;
  for (const nlohmann::json& line : read_lines(options.resume_dir)) {
    if (line.value("marker", "") == "reset") steps.clear();
    if (line.contains("loss")) steps.push_back(line["step"]);
  }
  ASSERT_EQ(steps.size(), step + 1) << "the earlier curve once more, and no line of it twice";
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], i + 1);
}

TEST(LeftTraining, ARunThatGoesOnTellsOfTheTrainingsThatItLeft) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = paused_classifier_options();
  options.run_dir = (folder / "run").string();
  std::vector<std::vector<float>> curves;
  {
    Trainer trainer(options);
    FeedLog feed(trainer.subscribe());
    take_steps(trainer, 5);
    ASSERT_TRUE(reset(trainer));
    take_steps(trainer, 3);
    curves = feed.curves();
    trainer.send(Finish{});
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  }
  options.resume_dir = std::exchange(options.run_dir, "");
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_EQ(feed.curves(), curves);
  EXPECT_EQ(feed.all<Restart>().at(0).generation, trainer.snapshot()->generation);
  EXPECT_EQ(feed.tests().size(), 1u);
}

TEST(Unsaved, WhatHasJustBegunIsNotKept) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = unsaved_options(folder.path());
  options.start_paused = true;
  options.unsaved_seconds = 1e6;
  Trainer trainer(options);
  take_steps(trainer, 12);
  EXPECT_EQ(leave(trainer), "");
  EXPECT_FALSE(fs::exists(options.unsaved_dir));
}

TEST(Unsaved, OfOneThatWasResetAMomentAgoWhatWasBeforeIsKept) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = unsaved_options(folder.path());
  Trainer trainer(options);
  ASSERT_TRUE(train_for_a_while(trainer));
  trainer.send(Pause{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  const std::uint64_t step = trainer.snapshot()->step;
  ASSERT_TRUE(reset(trainer));
  ASSERT_FALSE(leave(trainer).empty());
  EXPECT_EQ(runs::unsaved_trainings(options.unsaved_dir).at(0).step, step);
}

TEST(Unsaved, WhereItCannotBeKeptItIsTold) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = unsaved_options(folder.path());
  std::ofstream(options.unsaved_dir) << "a file";
  Trainer trainer(options);
  ASSERT_TRUE(train_for_a_while(trainer));
  EXPECT_EQ(leave(trainer), "");
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::failed);
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"the training could not be kept", "unsaved"}));
}

}  // namespace
}  // namespace warpscope::training::left_training_test
