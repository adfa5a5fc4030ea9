#include "gpu/runs/run_status.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

#include "gpu/runs/snapshot_json.h"
#include "gpu/settings/configuration.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::run_status_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

/// A status in a folder, and a snapshot to hand out.
class Status : public testing::Test {
 protected:
  void SetUp() override {
    status.watch([this] { return std::make_shared<const Snapshot>(snapshot); });
  }
  json read() const { return json::parse(tests::read_text(folder / "status.json")); }

  const tests::TemporaryFolder folder;
  Snapshot snapshot;
  RunStatus status{folder.path()};
  const RunStatus::Clock::time_point start = RunStatus::Clock::now();
};

TEST_F(Status, IsWrittenOnceASecondWhileItChanges) {
  snapshot.step = 1;
  status.write(start);
  EXPECT_EQ(read()["step"], 1);
  EXPECT_EQ(read()["written"], 1);
  snapshot.step = 2;
  status.write(start + 200ms);
  EXPECT_EQ(read()["step"], 1);
  status.write(start + 1000ms);
  EXPECT_EQ(read()["step"], 2);
}

TEST_F(Status, WithoutChangesItIsWrittenNowAndThen) {
  status.write(start);
  status.write(start + 1500ms);
  EXPECT_EQ(read()["written"], 1);
  status.write(start + 5500ms);
  EXPECT_EQ(read()["written"], 2) << "a sign of life";
}

TEST_F(Status, TheEndHasTheStateThatIsPublishedAMomentLater) {
  snapshot.state = TrainerState::running;
  status.write(start);
  status.end(TrainerState::finished);
  EXPECT_EQ(read()["state"], "finished");
}

TEST_F(Status, WithoutSnapshotsNothingIsWritten) {
  RunStatus silent(folder / "other");
  silent.write(start);
  silent.end(TrainerState::failed);
  EXPECT_FALSE(std::filesystem::exists(folder / "other"));
}

TEST_F(Status, WhatCannotBeWrittenIsToldOnceAfterAWhile) {
  RunStatus blocked(folder / "missing");
  blocked.watch([this] { return std::make_shared<const Snapshot>(snapshot); });
  int warnings = 0;
  for (int second = 0; second < 20; ++second) {
    ++snapshot.step;
    blocked.write(start + std::chrono::seconds(second));
    const std::string warning = blocked.take_warning();
    warnings += !warning.empty();
    EXPECT_TRUE(warning.empty() || second >= 5) << warning;
  }
  EXPECT_EQ(warnings, 1);
}

/// A status of a network that classifies.
class ClassifierStatus : public Status {
 protected:
  void SetUp() override {
    Status::SetUp();
    const auto set = std::make_shared<data::DataSet>(tests::labelled_data(0, 12));
    snapshot.classifies = true;
    snapshot.data = training::view_of(set);
  }
  void evaluate(std::uint64_t step) {
    auto evaluation = std::make_shared<Evaluation>();
    evaluation->step = snapshot.step = step;
    evaluation->classes = 3;
    evaluation->image_losses.assign(12, static_cast<float>(step));
    evaluation->predicted.assign(12, 0);
    summarize(*evaluation, snapshot.data->test.labels.data());
    snapshot.evaluation = evaluation;
  }
  std::uint64_t predicted_at() const { return read_predictions(folder.path()).evaluation.step; }
};

TEST_F(ClassifierStatus, PredictionsAreWrittenAtMostEveryFiveSeconds) {
  status.write(start);
  EXPECT_FALSE(std::filesystem::exists(folder / "images")) << "before the first evaluation";
  evaluate(10);
  status.write(start + 1s);
  EXPECT_EQ(predicted_at(), 10u);
  evaluate(20);
  status.write(start + 3s);
  EXPECT_EQ(predicted_at(), 10u);
  EXPECT_EQ(read()["evaluation"]["step"], 20) << "figures come sooner";
  status.write(start + 6s);
  EXPECT_EQ(predicted_at(), 20u) << "though nothing else has changed";
}

TEST_F(ClassifierStatus, PredictionsAreWrittenAgainOnlyForAnotherEvaluation) {
  evaluate(10);
  status.write(start);
  std::filesystem::remove_all(folder / "images");
  ++snapshot.step;
  status.write(start + 20s);
  EXPECT_FALSE(std::filesystem::exists(folder / "images"));
}

TEST_F(ClassifierStatus, TheEndHasTheLastPredictions) {
  evaluate(10);
  status.write(start);
  evaluate(20);
  snapshot.evaluation = [&] {
    auto last = std::make_shared<Evaluation>(*snapshot.evaluation);
    last->accuracy = 0.5;
    return last;
  }();
  status.end(TrainerState::finished);
  EXPECT_EQ(predicted_at(), 20u);
  EXPECT_EQ(read_predictions(folder.path()).evaluation.accuracy, 0.5);
}

TEST_F(ClassifierStatus, ATrainingThatWentBackHasNewPredictionsAtOnce) {
  evaluate(30);
  status.write(start);
  ++snapshot.generation;
  evaluate(10);
  status.write(start + 1s);
  EXPECT_EQ(predicted_at(), 10u);
  EXPECT_EQ(read_predictions(folder.path()).generation, 1u);
}

TEST_F(ClassifierStatus, PredictionsThatCannotBeWrittenAreToldOnceAndTriedAgain) {
  tests::write_text(folder / "images", "in the way");
  int warnings = 0;
  for (int second = 0; second < 60; ++second) {
    evaluate(static_cast<std::uint64_t>(second + 1));
    status.write(start + std::chrono::seconds(second));
    const std::string warning = status.take_warning();
    warnings += !warning.empty();
    EXPECT_TRUE(warning.empty() || second >= 25) << warning;
  }
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(read()["step"], 60) << "the status goes on";
  std::filesystem::remove(folder / "images");
  status.write(start + 70s);
  EXPECT_EQ(predicted_at(), 60u);
}

TEST(RunStatusOfATrainer, OfANetworkThatClassifiesLeavesItsPredictions) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = tests::tiny_trainer_options();
  options.model = tests::tiny_classifier();
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(64, 300));
  options.run_dir = (folder / "run").string();
  options.test_images = 300;
  options.epochs = 3;
  options.optimizer.learning_rate = 0.01f;
  Trainer trainer(options);
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto end = trainer.snapshot();
  ASSERT_EQ(end->state, TrainerState::finished) << end->notice;
  const Predictions seen = read_predictions(folder / "run");
  EXPECT_EQ(seen.evaluation.step, end->step);
  EXPECT_EQ(seen.evaluation.confusion, end->evaluation->confusion);
  ASSERT_EQ(seen.images.count, 256);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t place = seen.evaluation.positions[i];
    EXPECT_EQ(seen.evaluation.image_losses[i], end->evaluation->image_losses[place]);
    EXPECT_EQ(seen.images.labels[i], options.data_set->test.labels[place]);
  }
}

TEST(RunStatusOfATrainer, LeavesItsStateAndPicturesInTheRunFolder) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = tests::tiny_trainer_options();
  options.run_dir = (folder / "run").string();
  options.shown_images = 4;
  options.epochs = 3;
  options.optimizer.learning_rate = 0.01f;
  Trainer trainer(options);
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto end = trainer.snapshot();
  ASSERT_EQ(end->state, TrainerState::finished) << end->notice;
  Snapshot seen;
  from_json(json::parse(tests::read_text(folder / "run/status.json")), seen);
  EXPECT_EQ(seen.state, TrainerState::finished);
  EXPECT_EQ(seen.step, end->step);
  EXPECT_EQ(seen.selection, end->selection);
  EXPECT_EQ(seen.timings.size(), end->timings.size());
  EXPECT_TRUE(difference(*seen.settings, *end->settings).empty());
  ASSERT_TRUE(seen.evaluation);
  EXPECT_EQ(seen.evaluation->step, end->step);
  const ImageIndex index = read_image_index(folder / "run");
  EXPECT_EQ(index.pictures.back().step, end->step) << "the last pictures are those of the end";
  const ShownImages images = read_shown_images(folder / "run", index, index.pictures.size() - 1);
  const ImageSlot* slot = trainer.images()->acquire();
  ASSERT_NE(slot, nullptr);
  for (std::size_t i = 0; i < images.shape.elements(); ++i) {
    const float exact = std::clamp(slot->reconstruction.as<const float>()[i], 0.0f, 1.0f);
    EXPECT_NEAR(images.reconstruction[i], exact, 0.51f / 255) << i;
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(images.errors[static_cast<std::size_t>(i)],
                    slot->errors.as<const float>()[static_cast<std::size_t>(i)]);
  }
}

TEST(RunStatusOfATrainer, PicturesDoNotChangeTheTraining) {
  const auto weights_with = [](int images) {
    const tests::TemporaryFolder folder;
    TrainerOptions options = tests::tiny_trainer_options();
    options.run_dir = (folder / "run").string();
    options.save_file = (folder / "w.safetensors").string();
    options.shown_images = images;
    options.epochs = 3;
    options.optimizer.learning_rate = 0.01f;
    Trainer trainer(options);
    EXPECT_TRUE(trainer.wait(tests::kPatience));
    return tests::read_text(folder / "w.safetensors");
  };
  EXPECT_EQ(weights_with(0), weights_with(4));
}

TEST(RunStatusOfATrainer, AResetShowsTheFirstWeightsAgain) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = tests::tiny_trainer_options();
  options.run_dir = (folder / "run").string();
  options.shown_images = 4;
  options.optimizer.learning_rate = 0.01f;
  Trainer trainer(options);
  ASSERT_TRUE(tests::wait_for_step(trainer, 20));
  trainer.send(Pause{});
  trainer.send(Reset{});
  ImageIndex index;
  ASSERT_TRUE(tests::eventually([&] {
    if (std::filesystem::exists(folder / "run/images/index.json")) index = read_image_index(folder / "run");
    return index.generation == 1;
  }));
  EXPECT_EQ(index.pictures.front().step, 0u);
}

}  // namespace
}  // namespace warpscope::training::run_status_test
