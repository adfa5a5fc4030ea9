// Trainings that are recorded by themselves: where, from when to when, and what a disk that takes no more does to them.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/runs/recents.h"
#include "gpu/runs/unsaved.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::recording_test {
namespace {

namespace fs = std::filesystem;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

TrainerOptions recorded_options(const fs::path& folder) {
  TrainerOptions options = tests::tiny_trainer_options();
  options.record_dir = (folder / "runs").string();
  options.start_paused = true;
  return options;
}

bool take_steps(Trainer& trainer, int count) {
  const std::uint64_t step = trainer.snapshot()->step;
  for (int i = 0; i < count; ++i) trainer.send(StepOnce{});
  return wait_for_step(trainer, step + static_cast<std::uint64_t>(count));
}

bool leave(Trainer& trainer) {
  trainer.send(Leave{});
  return wait_until(trainer, [](const Snapshot& now) { return now.may_close; });
}

std::vector<fs::path> runs_in(const TrainerOptions& options) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(options.record_dir, none)) found.push_back(entry.path());
  return found;
}

std::vector<std::uint64_t> steps_in(const fs::path& run) {
  std::vector<std::uint64_t> steps;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.contains("loss")) steps.push_back(object["step"]);
  }
  return steps;
}

TEST(Recording, IsInANewFolderThatCanBeGoneOnWith) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = recorded_options(folder.path());
  {
    Trainer trainer(options);
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
    const fs::path run = trainer.snapshot()->run_dir;
    EXPECT_EQ(run.parent_path(), options.record_dir);
    EXPECT_TRUE(tests::holds(run.filename().string(), {"_" + options.model.name + "_"}));
    ASSERT_TRUE(take_steps(trainer, 3));
    ASSERT_TRUE(leave(trainer));
    EXPECT_EQ(trainer.snapshot()->kept_in, run);
  }
  const auto recents = runs::recent_trainings(options.record_dir, 5);
  ASSERT_EQ(recents.size(), 1u);
  EXPECT_EQ(recents[0].run.steps, 3u);
  EXPECT_EQ(recents[0].end, "finished");
  ASSERT_TRUE(recents[0].can_go_on);
  options.resume_dir = recents[0].run.folder.string();
  Trainer again(options);
  ASSERT_TRUE(wait_for_state(again, TrainerState::paused));
  EXPECT_EQ(again.snapshot()->step, 3u);
  EXPECT_EQ(runs_in(options).size(), 1u) << "it goes on where it was";
}

TEST(Recording, OfATrainingWithoutAStepNothingRemains) {
  const tests::TemporaryFolder folder;
  const TrainerOptions options = recorded_options(folder.path());
  {
    Trainer trainer(options);
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
    EXPECT_EQ(runs_in(options).size(), 1u);
    ASSERT_TRUE(leave(trainer));
  }
  EXPECT_TRUE(runs_in(options).empty());
}

TEST(Recording, WhereItIsNotWantedTheTrainingIsKeptWhenItIsLeft) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = recorded_options(folder.path());
  options.record = false;
  options.unsaved_dir = (folder / "unsaved").string();
  options.unsaved_seconds = 0;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_EQ(trainer.snapshot()->run_dir, "");
  ASSERT_TRUE(take_steps(trainer, 12));
  ASSERT_TRUE(leave(trainer));
  EXPECT_TRUE(runs_in(options).empty());
  EXPECT_EQ(runs::unsaved_trainings(options.unsaved_dir).size(), 1u);
}

TEST(Recording, ADiskThatTakesNoMoreEndsItAndNotTheTraining) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = recorded_options(folder.path());
  options.unsaved_dir = (folder / "unsaved").string();
  options.unsaved_seconds = 0;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  {
    const tests::FileSizeLimit limit(100);
    ASSERT_TRUE(take_steps(trainer, 3));
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.run_dir.empty(); }));
    EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"goes on without being recorded", "cannot write"}));
    const std::uint64_t told = trainer.snapshot()->notice_id;
    ASSERT_TRUE(take_steps(trainer, 9));
    EXPECT_EQ(trainer.snapshot()->notice_id, told) << "it is told once";
  }
  ASSERT_TRUE(leave(trainer));
  EXPECT_FALSE(fs::is_empty(folder / "unsaved")) << "it is kept once there is room";
}

TEST(Recording, OneThatLacksItsLastCheckpointIsKeptElsewhereWhenItIsLeft) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = recorded_options(folder.path());
  options.unsaved_dir = (folder / "unsaved").string();
  options.unsaved_seconds = 0;
  options.checkpoint_epochs = 0;  // nobody writes where the test deletes
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  ASSERT_TRUE(take_steps(trainer, 13));
  const fs::path checkpoints = fs::path(trainer.snapshot()->run_dir) / "checkpoints";
  fs::remove_all(checkpoints);
  tests::write_text(checkpoints, "");
  ASSERT_TRUE(leave(trainer));
  const auto kept = runs::unsaved_trainings(options.unsaved_dir);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].step, 13u);
  EXPECT_EQ(steps_in(kept[0].folder).size(), 13u);
  EXPECT_EQ(trainer.snapshot()->kept_in, kept[0].folder.string());
}

TEST(Recording, AFolderThatCannotBeMadeIsToldAndTheTrainingBegins) {
  const tests::TemporaryFolder folder;
  tests::write_text(folder / "runs", "");
  const TrainerOptions options = recorded_options(folder.path());
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"goes on without being recorded", "cannot make"}));
  ASSERT_TRUE(take_steps(trainer, 1));
  ASSERT_TRUE(leave(trainer));
}

TEST(Recording, StopsAndBeginsAgainWithTheCurveSoFar) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = recorded_options(folder.path());
  fs::path first, second;
  {
    Trainer trainer(options);
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
    first = trainer.snapshot()->run_dir;
    ASSERT_TRUE(take_steps(trainer, 3));
    trainer.send(Record{false});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.run_dir.empty(); }));
    EXPECT_EQ(steps_in(first), (std::vector<std::uint64_t>{1, 2, 3}));
    trainer.send(Reset{});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 1; }));
    ASSERT_TRUE(take_steps(trainer, 2));
    trainer.send(Record{true});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return !now.run_dir.empty(); }));
    second = trainer.snapshot()->run_dir;
    EXPECT_NE(first, second);
    ASSERT_TRUE(take_steps(trainer, 2));
    ASSERT_TRUE(leave(trainer));
  }
  EXPECT_EQ(steps_in(second), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  options.resume_dir = second.string();
  Trainer again(options);
  ASSERT_TRUE(wait_for_state(again, TrainerState::paused));
  EXPECT_EQ(again.snapshot()->step, 4u);
  EXPECT_EQ(again.snapshot()->generation, 1u);
  ASSERT_TRUE(take_steps(again, 1));
}

}  // namespace
}  // namespace warpscope::training::recording_test
