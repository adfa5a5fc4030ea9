// Runs that are stopped and gone on with, steered by schedules, held-out images and people.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/parameters.h"
#include "gpu/runs/checkpoint.h"
#include "gpu/runs/find_checkpoint.h"
#include "gpu/runs/run_folder.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::trainer_runs_test {
namespace {

using ops::UpdateRule;
using tests::FeedLog;
using tests::tiny_trainer_options;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

/// 40 images in batches of 8: five steps an epoch.
TrainerOptions options_with(UpdateRule rule, float rate, std::uint64_t epochs) {
  TrainerOptions options = tiny_trainer_options();
  options.optimizer = defaults_of(rule);
  options.optimizer.learning_rate = rate;
  options.epochs = epochs;
  return options;
}

struct Ended {
  std::shared_ptr<const Snapshot> snapshot;
  std::vector<Point> points;
  std::vector<Point> tests;
  std::vector<std::string> markers;
};

Ended run(const TrainerOptions& options) {
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  EXPECT_TRUE(trainer.wait(tests::kPatience));
  Ended ended{trainer.snapshot(), feed.steps(), feed.tests(), feed.markers()};
  EXPECT_EQ(ended.snapshot->state, TrainerState::finished) << ended.snapshot->notice;
  return ended;
}

std::vector<float> weights_in(const std::string& file) {
  return models::load_parameters(file, tests::tiny_model());
}

/// Evaluations without a better loss, as the last checkpoint of a run tells them.
int evaluations_without(const std::string& run, const models::Model& model) {
  return load_checkpoint(runs::find_checkpoint(run, "last"), model).training["stops"]["without"];
}

TEST(Resume, LossesOfOtherViewsAreNotHeldAgainstOthers) {
  const tests::TemporaryFolder folder;
  for (const int changes : {0, 1, 2, 3}) {
    const bool mirrored = changes % 2 != 0;
    TrainerOptions options = options_with(UpdateRule::sgd, 1e-30f, 0);  // the weights stay as they are
    options.model = tests::tiny_classifier();
    options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(40, 12));
    options.run_dir = (folder / std::to_string(changes)).string();
    options.test_mirrored = mirrored;
    options.test_shift = 1;
    options.steps = 4;
    run(options);
    EXPECT_EQ(evaluations_without(options.run_dir, options.model), 0);
    TrainerOptions same = options;
    same.run_dir = "";
    same.resume_dir = options.run_dir;
    same.steps = 6;
    run(same);
    EXPECT_EQ(evaluations_without(options.run_dir, options.model), 1) << "the loss is the same";
    TrainerOptions other = same;
    if (changes < 2) {
      other.test_mirrored = !mirrored;
    } else {
      other.test_shift = mirrored ? 2 : 0;
    }
    other.steps = 7;
    run(other);
    EXPECT_EQ(evaluations_without(options.run_dir, options.model), 0) << "it is the first of its kind";
  }
}

TEST(Resume, OfARunInUseIsRefused) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_with(UpdateRule::sgd, 0.01f, 0);
  options.run_dir = (folder / "run").string();
  const Trainer training(options);
  ASSERT_TRUE(wait_for_step(training, 12));
  TrainerOptions second = options;
  second.run_dir = "";
  second.resume_dir = options.run_dir;
  Trainer refused(second);
  ASSERT_TRUE(refused.wait(tests::kPatience));
  EXPECT_TRUE(refused.snapshot()->failed_by_input);
  EXPECT_TRUE(tests::holds(refused.snapshot()->notice, {"in use by another"}));
}

TEST(Resume, OnOtherImagesIsRefusedThoughTheyAreAsMany) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_with(UpdateRule::sgd, 0.01f, 1);
  options.run_dir = (folder / "run").string();
  run(options);
  TrainerOptions more = options;
  more.run_dir = "";
  more.resume_dir = options.run_dir;
  more.epochs = 2;
  data::DataSet other = *options.data_set;
  ++other.train.pixels[100];
  more.data_set = std::make_shared<data::DataSet>(other);
  Trainer refused(more);
  ASSERT_TRUE(refused.wait(tests::kPatience));
  EXPECT_TRUE(refused.snapshot()->failed_by_input);
  EXPECT_TRUE(tests::holds(refused.snapshot()->notice,
                           {"holds other images than those that the run was trained on"}));
  more.data_set = options.data_set;
  EXPECT_GT(run(more).snapshot->step, 5u);
}

/// The names in a run's folder of checkpoints, temporary ones too.
std::set<std::string> files_of_checkpoints(const std::filesystem::path& run) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoints"))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(Resume, FindsTheFolderFreeOnlyOnceTheLastCheckpointIsWritten) {
  const tests::TemporaryFolder folder;
  for (int i = 0; i < 10; ++i) {
    TrainerOptions options = options_with(UpdateRule::adam, 0.01f, 0);
    options.run_dir = (folder / std::to_string(i)).string();
    options.keep_checkpoints = 1000;  // the first one stays, however long it takes until the trainer goes
    auto trainer = std::make_unique<Trainer>(options);
    ASSERT_TRUE(wait_for_step(*trainer, 6)) << "a step after the first checkpoint was handed to its writer";
    std::set<std::string> when_free;
    std::jthread next([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        try {
          const RunFolder mine = RunFolder::reopen(options.run_dir);
          when_free = files_of_checkpoints(options.run_dir);
          return;
        } catch (const core::BadInput&) {
          std::this_thread::yield();
        }
      }
    });
    trainer.reset();
    next.join();
    EXPECT_EQ(when_free, files_of_checkpoints(options.run_dir));
    EXPECT_TRUE(when_free.contains("step-000000005.safetensors")) << testing::PrintToString(when_free);
  }
}

TEST(Resume, GivesTheSameWeightsAsARunThatWasNotStopped) {
  const tests::TemporaryFolder folder;
  for (const UpdateRule rule : {UpdateRule::sgd, UpdateRule::adam, UpdateRule::nesterov}) {
    const std::string name(ops::to_string(rule));
    TrainerOptions straight = options_with(rule, 0.01f, 7);
    straight.schedule = parse_schedule("cosine:warmup=1,final=0.1");
    straight.save_file = (folder / (name + "_straight.safetensors")).string();
    const Ended expected = run(straight);

    TrainerOptions first = straight;
    first.run_dir = (folder / name).string();
    first.save_file = "";
    std::uint64_t step = 0;
    first.start_paused = true;
    {
      Trainer stopped(first);
      for (int i = 0; i < 12; ++i) stopped.send(StepOnce{});
      ASSERT_TRUE(wait_for_step(stopped, 12));
      stopped.send(Finish{});
      ASSERT_TRUE(stopped.wait(tests::kPatience));
      step = stopped.snapshot()->step;
    }
    ASSERT_EQ(step, 12u) << "in the middle of an epoch";
    TrainerOptions second = straight;
    second.resume_dir = first.run_dir;
    second.save_file = (folder / (name + "_resumed.safetensors")).string();
    const Ended resumed = run(second);
    EXPECT_EQ(weights_in(second.save_file), weights_in(straight.save_file)) << name;
    ASSERT_EQ(resumed.points.size(), 35u) << "those before it too";
    for (std::size_t i = 0; i < resumed.points.size(); ++i) {
      const Point& point = resumed.points[i];
      const Point& wanted = expected.points[i];
      EXPECT_EQ(point.step, wanted.step);
      EXPECT_EQ(point[Metric::loss], wanted[Metric::loss]);
      EXPECT_EQ(point[Metric::learning_rate], wanted[Metric::learning_rate]);
    }
    ASSERT_FALSE(resumed.markers.empty());
    EXPECT_EQ(resumed.markers.front(), "resumed at step " + std::to_string(step));
  }
}

TEST(Resume, WritesOnInTheSameRun) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_with(UpdateRule::momentum, 0.01f, 4);
  options.run_dir = (folder / "run").string();
  run(options);
  TrainerOptions more = options;
  more.run_dir = "";
  more.resume_dir = options.run_dir;
  more.epochs = 6;
  run(more);
  std::ifstream file(folder / "run/metrics.jsonl");
  std::vector<std::uint64_t> steps;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("loss")) steps.push_back(json["step"]);
  }
  ASSERT_EQ(steps.size(), 30u);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], i + 1);
  std::ifstream head_file(folder / "run/run.json");
  const auto head = nlohmann::json::parse(head_file);
  EXPECT_EQ(head["status"], "finished");
  EXPECT_EQ(head["steps"], 30);
  EXPECT_EQ(head["resumed"], nlohmann::json::array({20}));
}

TEST(Resume, TakesAFolderThatIsHeldAlready) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_with(UpdateRule::momentum, 0.01f, 1);
  options.run_dir = (folder / "run").string();
  run(options);
  TrainerOptions more = options;
  more.run_dir = "";
  more.resume_dir = options.run_dir;
  more.epochs = 2;
  const auto held = std::make_shared<RunFolder>(RunFolder::reopen(options.run_dir));
  Trainer refused(more);
  ASSERT_TRUE(refused.wait(tests::kPatience));
  EXPECT_TRUE(refused.snapshot()->failed_by_input) << "a folder in use";
  more.resumed = held;
  EXPECT_EQ(run(more).snapshot->step, 10u);
}

TEST(Resume, WhatDoesNotFitIsRefusedInOneSentence) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_with(UpdateRule::momentum, 0.01f, 2);
  options.run_dir = (folder / "run").string();
  run(options);
  const auto refusal = [&](const std::function<void(TrainerOptions&)>& spoil) {
    TrainerOptions wrong = options;
    wrong.run_dir = "";
    wrong.resume_dir = (folder / "run").string();
    spoil(wrong);
    Trainer trainer(wrong);
    EXPECT_TRUE(trainer.wait(tests::kPatience));
    EXPECT_EQ(trainer.snapshot()->state, TrainerState::failed);
    EXPECT_TRUE(trainer.snapshot()->failed_by_input);
    return trainer.snapshot()->notice;
  };
  EXPECT_TRUE(tests::holds(refusal([](TrainerOptions& o) { o.seed = 6; }), {"seed 5"}));
  EXPECT_TRUE(tests::holds(
      refusal([](TrainerOptions& o) { o.data_set = std::make_shared<data::DataSet>(tests::tiny_data(48)); }),
      {"holds other images than those that the run was trained on"}));
  EXPECT_TRUE(
      tests::holds(refusal([&](TrainerOptions& o) { o.resume_dir = folder.path().string(); }), {"run"}));
  std::filesystem::remove_all(folder / "run/checkpoints");
  EXPECT_TRUE(tests::holds(refusal([](TrainerOptions&) {}), {"no checkpoint"}));
}

TEST(Schedules, GiveEachStepItsRate) {
  TrainerOptions options = options_with(UpdateRule::sgd, 0.1f, 4);
  options.schedule = parse_schedule("step:every=2,factor=0.5");
  const Ended ended = run(options);
  ASSERT_EQ(ended.points.size(), 20u);
  for (std::size_t i = 0; i < ended.points.size(); ++i) {
    EXPECT_EQ(ended.points[i][Metric::learning_rate], i < 10 ? 0.1f : 0.05f) << "step " << i + 1;
  }
}

TEST(Schedules, PlateauLowersTheRateWhenTheLossStays) {
  TrainerOptions options = options_with(UpdateRule::sgd, 0.0f, 0);
  options.optimizer.learning_rate = 1e-12f;  // nothing improves
  options.schedule = parse_schedule("plateau:factor=0.5,patience=2");
  options.epochs = 8;
  const Ended ended = run(options);
  ASSERT_EQ(ended.points.size(), 40u);
  EXPECT_EQ(ended.points.front()[Metric::learning_rate], 1e-12f);
  EXPECT_LT(ended.points.back()[Metric::learning_rate], 0.6e-12f);
  EXPECT_TRUE(std::any_of(ended.markers.begin(), ended.markers.end(), [](const std::string& text) {
    return text.starts_with("plateau: learning rate");
  }));
}

TEST(Schedules, WithoutALengthAreRefused) {
  TrainerOptions options = options_with(UpdateRule::sgd, 0.1f, 0);
  options.start_paused = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(tests::change("schedule", "cosine"));
  ASSERT_TRUE(tests::wait_for_notice(trainer, 1));
  EXPECT_EQ(trainer.snapshot()->settings->schedule.kind, ScheduleKind::constant);
}

TEST(Stops, EarlyWhenHeldOutImagesImproveNoMore) {
  TrainerOptions options = options_with(UpdateRule::sgd, 1e-12f, 0);
  options.stop.patience = 3;
  options.stop.least_improvement = 1e-3;
  options.steps = 100000;
  const Ended ended = run(options);
  EXPECT_LT(ended.snapshot->step, 2000u);
  EXPECT_TRUE(tests::holds(ended.markers.back(), {"has not improved", "3 evaluations"}));
}

TEST(Stops, AtTheTargetLoss) {
  TrainerOptions options = options_with(UpdateRule::adam, 0.01f, 0);
  options.steps = 100000;
  options.stop.target_loss = 0.04;
  const Ended ended = run(options);
  EXPECT_LE(ended.snapshot->last_test[Metric::loss], 0.05f);
  EXPECT_LT(ended.snapshot->step, 100000u);
}

TEST(Validation, SteersAndLeavesTheTestSetForTheEnd) {
  TrainerOptions options = options_with(UpdateRule::sgd, 0.1f, 20);
  options.validation = 0.25;
  const Ended ended = run(options);
  EXPECT_EQ(ended.snapshot->train_images, 30);
  EXPECT_EQ(ended.snapshot->validation_images, 10);
  ASSERT_GE(ended.tests.size(), 3u);
  EXPECT_EQ(ended.tests.back().split, Split::test);
  for (std::size_t i = 0; i + 1 < ended.tests.size(); ++i) EXPECT_EQ(ended.tests[i].split, Split::validation);
}

TEST(RollingBack, GoesOnFromEarlierWeightsAtTheRateThatWorked) {
  TrainerOptions options = options_with(UpdateRule::sgd, 0.1f, 0);
  options.pause_on_divergence = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 50));
  trainer.send(tests::change("learning_rate", 1e6));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.divergence.id == 1 && now.state == TrainerState::paused;
  }));
  const auto then = trainer.snapshot();
  EXPECT_TRUE(tests::holds(then->divergence.text, {"not finite", "tensor"}));
  ASSERT_TRUE(then->divergence.can_roll_back);
  EXPECT_EQ(then->divergence.back_rate, 0.1f);
  EXPECT_LT(then->divergence.back_step, then->divergence.step);
  trainer.send(RollBack{});
  ASSERT_TRUE(wait_for_step(trainer, then->step + 50));
  const auto now = trainer.snapshot();
  EXPECT_EQ(now->settings->optimizer.learning_rate, 0.1f);
  EXPECT_TRUE(std::isfinite(now->last[Metric::loss]));
  EXPECT_EQ(now->state, TrainerState::running);
  EXPECT_EQ(now->generation, 0u);
}

TEST(RollingBack, HalvesARateThatHasFailedFromTheStart) {
  TrainerOptions options = options_with(UpdateRule::sgd, 1e6f, 0);
  options.pause_on_divergence = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.divergence.id == 1 && now.state == TrainerState::paused;
  }));
  EXPECT_EQ(trainer.snapshot()->divergence.back_rate, 5e5f);
  EXPECT_EQ(trainer.snapshot()->divergence.back_step, 0u);
}

TEST(Watching, ALossThatLeapsPausesWithinTwentySteps) {
  TrainerOptions options = options_with(UpdateRule::lion, 1e-4f, 0);
  options.pause_on_divergence = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 60));
  trainer.send(Pause{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  const std::uint64_t step = trainer.snapshot()->step;
  trainer.send(tests::change("learning_rate", 10.0));
  trainer.send(Resume{});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.divergence.id == 1; }));
  const auto then = trainer.snapshot();
  EXPECT_TRUE(tests::holds(then->divergence.text, {"the loss has leapt to"}));
  EXPECT_LE(then->divergence.step, step + 20);
  EXPECT_EQ(then->divergence.back_rate, 1e-4f);
}

TEST(RateSearch, LeavesNoTraceInTheTraining) {
  TrainerOptions options = options_with(UpdateRule::adam, 0.01f, 6);
  const Ended expected = run(options);
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 4; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 4));
  RateFinderOptions search;
  search.steps = 40;
  search.high = 100;
  trainer.send(FindRate{search});
  ASSERT_TRUE(
      wait_until(trainer, [](const Snapshot& now) { return now.rate_search && !now.rate_search->running; }));
  const auto found = trainer.snapshot()->rate_search;
  EXPECT_GT(found->result.points.size(), 10u);
  EXPECT_FALSE(found->result.text.empty());
  EXPECT_EQ(trainer.snapshot()->step, 4u);
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto points = feed.steps();
  ASSERT_EQ(points.size(), expected.points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i][Metric::loss], expected.points[i][Metric::loss]) << "step " << i + 1;
    EXPECT_EQ(points[i][Metric::learning_rate], 0.01f);
  }
}

TEST(Command, SettingsAreWrittenBackAsTheyAreNow) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_with(UpdateRule::sgd, 0.1f, 9);
  options.settings_file = (folder / "mine.toml").string();
  options.start_paused = true;
  Trainer trainer(options);
  OptimizerSettings lion = defaults_of(UpdateRule::lion);
  lion.clip_value = 0.25f;
  trainer.send(tests::change(options.optimizer, lion));
  trainer.send(tests::change("schedule", "cosine:warmup=2"));
  trainer.send(tests::change("batch", 4));
  trainer.send(tests::change("zscore", 6.5));
  trainer.send(SaveSettings{});
  ASSERT_TRUE(
      wait_until(trainer, [&](const Snapshot&) { return std::filesystem::exists(folder / "mine.toml"); }));
  const std::string written = tests::read_text(folder / "mine.toml");
  EXPECT_TRUE(tests::holds(written, {"name = \"lion\"", "clip_value = 0.25", "batch = 4", "\"cosine:warmup=2",
                                     "epochs = 9", "zscore = 6.5", "learning_rate = 0.0001"}))
      << written;
}

TEST(Command, SettingsThatAreWrittenBackNameTheBlocksThatStay) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_with(UpdateRule::sgd, 0.1f, 9);
  options.settings_file = (folder / "mine.toml").string();
  options.start_paused = true;
  options.select = "conv2d.forward=reference,relu.forward=loops";
  Trainer trainer(options);
  trainer.send(SaveSettings{});
  ASSERT_TRUE(
      wait_until(trainer, [&](const Snapshot&) { return std::filesystem::exists(folder / "mine.toml"); }));
  const std::string written = tests::read_text(folder / "mine.toml");
  EXPECT_TRUE(tests::holds(written, {"conv2d.forward=reference,relu.forward=loops"})) << written;
}

TEST(SelectionOnTheGpu, AChosenOpRunsByItselfAndTheOthersAsFarAsTheyFit) {
  if (const std::string reason = core::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  const auto launched = [](const std::string& select) {
    TrainerOptions options = options_with(UpdateRule::sgd, 0.01f, 0);
    options.device = "cuda:0";
    options.select = select;
    options.start_paused = true;
    Trainer trainer(options);
    EXPECT_TRUE(wait_for_state(trainer, TrainerState::paused));
    std::set<ops::Op> found;
    const auto paused = trainer.snapshot();
    for (const OpTiming& timing : paused->timings) {
      if (!timing.covered_by) found.insert(timing.op);
    }
    return found;
  };
  EXPECT_FALSE(launched("").contains(ops::Op::bias_forward)) << "the convolution's call covers it";
  EXPECT_TRUE(launched("conv2d.forward=naive").contains(ops::Op::bias_forward));
  EXPECT_TRUE(launched("bias.forward=naive").contains(ops::Op::bias_forward));
}

TEST(Command, AnotherOptimizerPutsAMarkerAndKeepsTheWeights) {
  TrainerOptions options = options_with(UpdateRule::sgd, 0.1f, 0);
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 3; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 3));
  trainer.send(tests::change(options.optimizer, with_rule(options.optimizer, UpdateRule::adam)));
  trainer.send(tests::change("beta1", 2.0));
  trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 4));
  ASSERT_EQ(feed.markers().size(), 1u);
  EXPECT_TRUE(feed.markers()[0].starts_with("optimizer: sgd -> adam"));
  EXPECT_EQ(trainer.snapshot()->settings->optimizer.rule, UpdateRule::adam);
  EXPECT_NE(trainer.snapshot()->notice.find("beta"), std::string::npos);
}

}  // namespace
}  // namespace warpscope::training::trainer_runs_test
