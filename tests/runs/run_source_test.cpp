#include "gpu/runs/run_source.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/runs/run_images.h"
#include "gpu/runs/run_predictions.h"
#include "gpu/runs/run_view.h"
#include "gpu/runs/snapshot_json.h"
#include "tests/runs/run_lock.h"
#include "tests/runs/run_maker.h"
#include "tests/support/changes.h"
#include "tests/support/waiting.h"

namespace warpscope::runs::run_source_test {
namespace {

using nlohmann::json;
using tests::append_text;
using tests::Lock;
using tests::make_run;
using tests::marker_line;
using tests::run_head;
using tests::step_line;
using tests::test_line;
using training::Marker;
using training::Restart;
using training::TrainerState;

training::Snapshot status_at(std::uint64_t step) {
  training::Snapshot status;
  status.state = TrainerState::running;
  status.step = step;
  status.model = "autoencoder";
  tests::settings_of(status).batch = 64;
  status.images_per_second = 1234.5;
  status.device.name = "NVIDIA H100";
  training::OpTiming timing;
  timing.op = ops::Op::relu_forward;
  timing.variant = "loops";
  timing.microseconds = 3.5;
  status.timings.push_back(timing);
  return status;
}

/// A run folder, its view, and a reader of everything that the view says.
class Viewed : public testing::Test {
 protected:
  std::filesystem::path run() const { return folder / "run"; }
  void SetUp() override { std::filesystem::create_directory(run()); }
  void write_status(const training::Snapshot& status) const {
    tests::write_text(run() / "status.json", json(status).dump());
  }
  void open(Reads reads = Reads::all) {
    source = std::make_unique<RunSource>(run(), reads);
    feed = source->subscribe();
  }

  /// Waits until the newest snapshot fulfils `condition`; takes the feed's items meanwhile.
  template <class Condition>
  bool wait_until(Condition condition) {
    const auto look = [&] {
      // The items of a snapshot are there with it.
      const auto now = source->snapshot();
      for (training::FeedItem& item : feed->take()) items.push_back(std::move(item));
      return condition(*now);
    };
    if (tests::eventually(look)) {
      for (training::FeedItem& item : feed->take()) items.push_back(std::move(item));
      return true;
    }
    const auto last = source->snapshot();
    ADD_FAILURE() << "still " << training::to_string(last->state) << " at step " << last->step << ", '"
                  << last->notice << "'";
    return false;
  }
  bool wait_for_step(std::uint64_t step) {
    return wait_until([step](const training::Snapshot& now) { return now.step == step; });
  }
  bool wait_for_state(TrainerState state) {
    return wait_until([state](const training::Snapshot& now) { return now.state == state; });
  }
  /// The steps of all loss points so far, with 0 for a restart.
  std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> found;
    for (const training::FeedItem& item : items) {
      const auto* const point = std::get_if<training::Point>(&item);
      if (point != nullptr && point->split == training::Split::train) found.push_back(point->step);
      if (std::holds_alternative<Restart>(item)) found.push_back(0);
    }
    return found;
  }

  const tests::TemporaryFolder folder;
  std::unique_ptr<RunSource> source;
  std::shared_ptr<training::Feed> feed;
  std::vector<training::FeedItem> items;
};

using Steps = std::vector<std::uint64_t>;

TEST_F(Viewed, NoRunIsRefused) {
  EXPECT_THROW(RunSource refused(folder / "nothing"), core::BadInput);
  EXPECT_THROW(RunSource refused(folder.path()), core::BadInput);
}

TEST_F(Viewed, AFinishedRunShowsItsPointsAndItsStatus) {
  make_run(run(), run_head("finished"),
           step_line(1, 0.5) + step_line(2, 0.25, R"(,"gradient_norm":1.5,"update_ratio":0.001)") +
               marker_line(2, "batch 64 -> 32") + test_line(2, 0.125) +
               test_line(2, 0.0625, R"(,"split":"validation")"));
  training::Snapshot status = status_at(2);
  status.state = TrainerState::finished;
  write_status(status);
  open();
  ASSERT_TRUE(wait_for_state(TrainerState::finished));
  const auto now = source->snapshot();
  EXPECT_EQ(now->can.why_not, "finished");
  EXPECT_EQ(now->run_dir, run().string());
  EXPECT_EQ(now->step, 2u);
  EXPECT_EQ(now->last[training::Metric::loss], 0.25f);
  EXPECT_EQ(now->last[training::Metric::gradient_norm], 1.5f);
  EXPECT_EQ(now->last_test[training::Metric::loss], 0.0625f) << "of the images that steer";
  EXPECT_EQ(now->images_per_second, 1234.5);
  ASSERT_EQ(now->timings.size(), 1u);
  EXPECT_EQ(now->timings[0].variant, "loops");
  EXPECT_EQ(steps(), (Steps{1, 2}));
  std::vector<training::Split> splits;
  int markers = 0;
  for (const auto& item : items) {
    const auto* const point = std::get_if<training::Point>(&item);
    if (point != nullptr && point->split != training::Split::train) splits.push_back(point->split);
    markers += std::holds_alternative<Marker>(item);
  }
  EXPECT_EQ(splits, (std::vector{training::Split::validation, training::Split::test}));
  EXPECT_EQ(markers, 1);
}

TEST_F(Viewed, ARunIsFollowedWhileItGrows) {
  make_run(run(), run_head("running"), step_line(1, 0.5));
  write_status(status_at(1));
  const Lock lock(run());
  open();
  ASSERT_TRUE(wait_for_step(1));
  EXPECT_EQ(source->snapshot()->state, TrainerState::running);
  EXPECT_EQ(source->snapshot()->can.why_not, "running in another process");
  append_text(run() / "metrics.jsonl", step_line(2, 0.4) + R"({"step":3,"lo)");
  ASSERT_TRUE(wait_for_step(2));
  append_text(run() / "metrics.jsonl", "ss\":0.3}\n" + step_line(4, 0.2));
  ASSERT_TRUE(wait_for_step(4));
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
  training::Snapshot paused = status_at(4);
  paused.state = TrainerState::paused;
  write_status(paused);
  ASSERT_TRUE(wait_for_state(TrainerState::paused));
}

TEST_F(Viewed, ALateSubscriberGetsEverything) {
  make_run(run(), run_head("finished"), step_line(1, 0.5) + step_line(2, 0.4));
  open();
  ASSERT_TRUE(wait_for_step(2));
  items.clear();
  feed = source->subscribe();
  ASSERT_TRUE(wait_for_step(2));
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(Viewed, ARunThatNobodyWritesIsInterruptedAndComesBackToLife) {
  make_run(run(), run_head("running"), step_line(1, 0.5));
  write_status(status_at(1));
  open();
  ASSERT_TRUE(wait_for_state(TrainerState::interrupted));
  EXPECT_NE(source->snapshot()->can.why_not.find("interrupted"), std::string::npos);
  append_text(run() / "metrics.jsonl", step_line(2, 0.4));
  ASSERT_TRUE(wait_for_state(TrainerState::running)) << "where locks are not seen, changes tell";
}

TEST_F(Viewed, AProcessThatDiesIsNoticed) {
  make_run(run(), run_head("running"), step_line(1, 0.5));
  write_status(status_at(1));
  auto lock = std::make_unique<Lock>(run());
  open();
  ASSERT_TRUE(wait_for_state(TrainerState::running));
  lock.reset();
  ASSERT_TRUE(wait_for_state(TrainerState::interrupted));
}

TEST_F(Viewed, WhatAResumeCutsOffIsGoneAndTheRestIsNotSentAgain) {
  make_run(run(), run_head("running"), step_line(1, 0.5) + step_line(2, 0.4) + step_line(3, 0.3));
  const Lock lock(run());
  open();
  ASSERT_TRUE(wait_for_step(3));
  tests::write_text(run() / "metrics.jsonl", step_line(1, 0.5));
  append_text(run() / "metrics.jsonl", step_line(2, 0.45));
  ASSERT_TRUE(wait_for_step(2));
  append_text(run() / "metrics.jsonl", step_line(3, 0.35));
  ASSERT_TRUE(wait_for_step(3));
  const Steps seen = steps();
  ASSERT_GE(seen.size(), 5u);
  EXPECT_EQ(Steps(seen.begin(), seen.begin() + 3), (Steps{1, 2, 3}));
  EXPECT_EQ(Steps(seen.end() - 2, seen.end()), (Steps{2, 3}));
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 0) << "no restart: it is the same training";
}

TEST_F(Viewed, WhereOnlyTheEndIsCutOffTheLastStepIsSentAgainWithItsTest) {
  const std::string kept = step_line(1, 0.5) + step_line(2, 0.4) + test_line(2, 0.45);
  make_run(run(), run_head("running"), kept + step_line(3, 0.3));
  const Lock lock(run());
  open();
  ASSERT_TRUE(wait_for_step(3));
  items.clear();
  tests::write_text(run() / "other", kept);
  std::filesystem::rename(run() / "other", run() / "metrics.jsonl");  // never seen half written
  ASSERT_TRUE(wait_until([this](const training::Snapshot&) { return !steps().empty(); }));
  EXPECT_EQ(steps(), (Steps{2}));
  const auto is_test = [](const training::FeedItem& item) {
    const auto* const point = std::get_if<training::Point>(&item);
    return point != nullptr && point->split == training::Split::test && point->step == 2;
  };
  EXPECT_EQ(std::count_if(items.begin(), items.end(), is_test), 1);
}

TEST_F(Viewed, ARollBackGoesBack) {
  make_run(run(), run_head("running"), step_line(1, 0.5) + step_line(2, 9));
  const Lock lock(run());
  open();
  ASSERT_TRUE(wait_for_step(2));
  append_text(run() / "metrics.jsonl", step_line(2, 0.4) + step_line(3, 0.3));
  ASSERT_TRUE(wait_for_step(3));
  EXPECT_EQ(steps(), (Steps{1, 2, 2, 3}));
}

TEST_F(Viewed, AResetIsARestartEvenIfTheLossesAreTheSame) {
  make_run(run(), run_head("running"), step_line(1, 0.5) + step_line(2, 0.4) + step_line(3, 0.3));
  const Lock lock(run());
  open();
  ASSERT_TRUE(wait_for_step(3));
  append_text(run() / "metrics.jsonl", marker_line(0, "reset") + step_line(1, 0.5));
  ASSERT_TRUE(wait_for_step(1));
  EXPECT_EQ(source->snapshot()->generation, 1u);
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 0, 1}));
}

TEST_F(Viewed, ADamagedStatusLeavesTheLastGoodOneWithANotice) {
  make_run(run(), run_head("running"), step_line(1, 0.5));
  write_status(status_at(1));
  const Lock lock(run());
  open();
  ASSERT_TRUE(wait_until([](const training::Snapshot& now) { return !now.timings.empty(); }));
  const std::string whole = tests::read_text(run() / "status.json");
  tests::write_text(run() / "status.json", whole.substr(0, whole.size() / 2));
  ASSERT_TRUE(wait_until([](const training::Snapshot& now) {
    return now.notice.find("status.json is damaged") != std::string::npos;
  }));
  EXPECT_EQ(source->snapshot()->timings.size(), 1u);
  EXPECT_EQ(source->snapshot()->images_per_second, 1234.5);
  training::Snapshot next = status_at(1);
  next.images_per_second = 99;
  write_status(next);
  ASSERT_TRUE(wait_until([](const training::Snapshot& now) { return now.images_per_second == 99; }));
}

TEST_F(Viewed, DamagedLinesAreToldAndLeftOut) {
  make_run(run(), run_head("finished"), step_line(1, 0.5) + "nonsense\n" + step_line(2, 0.4));
  open();
  ASSERT_TRUE(wait_for_step(2));
  EXPECT_NE(source->snapshot()->notice.find("line 2"), std::string::npos) << source->snapshot()->notice;
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(Viewed, WithoutAStatusRunJsonTells) {
  make_run(run(), run_head("finished"), step_line(1, 0.5) + step_line(2, 0.4));
  open();
  ASSERT_TRUE(wait_for_state(TrainerState::finished));
  const auto now = source->snapshot();
  EXPECT_EQ(now->model, "autoencoder");
  EXPECT_EQ(now->data_name, "CIFAR-10");
  EXPECT_EQ(now->settings->batch, 64);
  EXPECT_EQ(now->device.name, "AMD EPYC");
  EXPECT_EQ(now->settings->optimizer.rule, ops::UpdateRule::sgd);
  EXPECT_FLOAT_EQ(now->settings->optimizer.learning_rate, 0.005f);
  EXPECT_EQ(now->selection.variants.at(ops::Op::conv2d_forward), "onednn");
  EXPECT_EQ(now->parameters, 751875u);
  EXPECT_GT(now->images_per_second, 0);
}

TEST_F(Viewed, AFailedRunSaysWhy) {
  json head = run_head("failed");
  head["error"] = "the loss is not finite";
  make_run(run(), head, step_line(1, 0.5));
  open();
  ASSERT_TRUE(wait_for_state(TrainerState::failed));
  EXPECT_EQ(source->snapshot()->notice, "the loss is not finite");
}

TEST_F(Viewed, WhatWasToldBeforeSomebodyLooksIsNoNews) {
  make_run(run(), run_head("finished"), step_line(1, 0.5));
  training::Snapshot status = status_at(1);
  status.state = TrainerState::finished;
  status.notice = "the network has forgotten what it had learned";
  status.notice_id = 3;
  write_status(status);
  open();
  ASSERT_TRUE(wait_for_state(TrainerState::finished));
  EXPECT_EQ(source->snapshot()->notice, "");
  EXPECT_EQ(source->snapshot()->notice_id, 0u);
}

TEST_F(Viewed, CommandsAreRefusedWithASentence) {
  make_run(run(), run_head("finished"), step_line(1, 0.5));
  open();
  ASSERT_TRUE(wait_for_state(TrainerState::finished));
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t before = source->snapshot()->notice_id;
    source->send(training::Reset{});
    ASSERT_TRUE(wait_until([before](const training::Snapshot& now) { return now.notice_id > before; }));
    EXPECT_EQ(source->snapshot()->notice,
              "this window shows a run that another process trains: it cannot be steered from here");
    EXPECT_EQ(source->snapshot()->state, TrainerState::finished);
  }
}

TEST_F(Viewed, PicturesFollow) {
  make_run(run(), run_head("running"), step_line(1, 0.5));
  const Lock lock(run());
  training::RunImages writer(run());
  training::ShownImages images;
  images.shape = {3, 2, 2, 3};
  images.step = 1;
  images.original.assign(images.shape.elements(), 1.0f);
  images.reconstruction.assign(images.shape.elements(), 0.2f);
  images.errors = {0.5f, 0.25f, 0.125f};
  writer.write(images);
  open();
  ASSERT_TRUE(wait_until([this](const training::Snapshot&) { return source->images() != nullptr; }));
  const auto exchange = source->images();
  const training::ImageSlot* slot = exchange->acquire();
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->step, 1u);
  EXPECT_EQ(slot->original.as<const float>()[5], 1.0f);
  EXPECT_FLOAT_EQ(slot->reconstruction.as<const float>()[5], 0.2f);
  EXPECT_EQ(slot->errors.as<const float>()[2], 0.125f);
  images.step = 2;
  images.reconstruction.assign(images.shape.elements(), 0.4f);
  writer.write(images);
  ASSERT_TRUE(wait_until([&](const training::Snapshot&) {
    slot = exchange->acquire();
    return slot->step == 2;
  }));
  EXPECT_FLOAT_EQ(slot->reconstruction.as<const float>()[5], 0.4f);
  EXPECT_EQ(source->images(), exchange);
}

/// Two pictures after a step, all of one value.
training::ShownImages two_pictures(std::uint64_t step, float value) {
  training::ShownImages images;
  images.shape = {2, 2, 2, 3};
  images.step = step;
  images.original.assign(images.shape.elements(), 1.0f);
  images.reconstruction.assign(images.shape.elements(), value);
  images.errors = {0.5f, 0.25f};
  return images;
}

TEST_F(Viewed, AllPicturesOfTheRunAreItsHistory) {
  make_run(run(), run_head("running"), step_line(1, 0.5));
  const Lock lock(run());
  training::RunImages writer(run());
  writer.write(two_pictures(1, 0.2f));
  writer.write(two_pictures(5, 0.4f));
  open();
  const auto kept = [this](const Steps& steps) {
    return wait_until(
        [&](const training::Snapshot&) { return source->history() && source->history()->steps() == steps; });
  };
  ASSERT_TRUE(kept({1, 5}));
  const auto history = source->history();
  EXPECT_NEAR(history->at(1)->reconstruction[3], 0.2f, 0.003f);
  EXPECT_EQ(history->at(5)->errors, (std::vector<float>{0.5f, 0.25f}));
  writer.write(two_pictures(9, 0.6f));
  ASSERT_TRUE(kept({1, 5, 9}));
  writer.write(two_pictures(3, 0.8f));  // a training that went back
  ASSERT_TRUE(kept({1, 3}));
  EXPECT_NEAR(history->at(3)->reconstruction[3], 0.8f, 0.003f);
}

TEST_F(Viewed, PicturesAreLeftAloneWhereNobodyWantsThem) {
  make_run(run(), run_head("running"), step_line(1, 0.5));
  training::RunImages(run()).write(two_pictures(1, 0.2f));
  open(Reads::curves);
  ASSERT_TRUE(wait_for_step(1));
  append_text(run() / "metrics.jsonl", step_line(2, 0.5));
  ASSERT_TRUE(wait_for_step(2));
  EXPECT_EQ(source->images(), nullptr);
  EXPECT_EQ(source->history(), nullptr);
}

TEST_F(Viewed, CurvesFollowARunThatGoesBackOrIsReplaced) {
  make_run(run(), run_head("running"), step_line(1, 0.5) + step_line(2, 0.4) + step_line(3, 0.3));
  open(Reads::curves);
  ASSERT_TRUE(wait_for_step(3));
  append_text(run() / "metrics.jsonl", step_line(3, 0.35) + step_line(4, 0.25));
  ASSERT_TRUE(wait_for_step(4));
  append_text(run() / "metrics.jsonl", step_line(5, 0.2));
  ASSERT_TRUE(wait_for_step(5));
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 3, 4, 5}));
  items.clear();
  tests::write_text(run() / "other", step_line(1, 0.5) + step_line(2, 0.4));
  std::filesystem::rename(run() / "other", run() / "metrics.jsonl");  // never seen half written
  ASSERT_TRUE(wait_for_step(2));
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(Viewed, ADamagedPictureIsToldAndTheOthersAreShown) {
  make_run(run(), run_head("finished"), step_line(1, 0.5));
  training::RunImages writer(run());
  for (std::uint64_t step = 1; step <= 3; ++step) writer.write(two_pictures(step, 0.5f));
  tests::write_text(run() / "images" / training::picture_name(2), "damaged");
  open();
  ASSERT_TRUE(wait_until([&](const training::Snapshot&) {
    return source->history() && source->history()->steps() == Steps{1, 3};
  }));
  EXPECT_NE(source->snapshot()->notice.find("step 2"), std::string::npos) << source->snapshot()->notice;
}

TEST_F(Viewed, MissingPicturesAreToldOnce) {
  make_run(run(), run_head("finished"), step_line(1, 0.5));
  std::filesystem::create_directory(run() / "images");
  tests::write_text(run() / "images" / "index.json", "[]");
  open();
  ASSERT_TRUE(wait_until(
      [](const training::Snapshot& now) { return now.notice.find("images") != std::string::npos; }));
  const std::uint64_t id = source->snapshot()->notice_id;
  for (std::uint64_t step = 2; step <= 4; ++step) {  // each is seen by another look at the folder
    append_text(run() / "metrics.jsonl", step_line(step, 0.5));
    ASSERT_TRUE(wait_for_step(step));
  }
  EXPECT_EQ(source->snapshot()->notice_id, id);
}

/// A view of a run that classifies.
class ViewedClassifier : public Viewed {
 protected:
  void SetUp() override {
    Viewed::SetUp();
    json head = run_head("running");
    head["classifies"] = true;
    head["classes"] = {"cat", "dog"};
    make_run(run(), head, step_line(1, 0.5) + test_line(1, 0.25, R"(,"accuracy":0.75)"));
    set = {2, 2, 1, 300, {}, {}};
    for (int i = 0; i < 1200; ++i) set.pixels.push_back(static_cast<std::uint8_t>(i));
    for (int i = 0; i < 300; ++i) set.labels.push_back(static_cast<std::uint8_t>(i % 2));
  }
  training::Evaluation evaluated(std::uint64_t step) const {
    training::Evaluation evaluation;
    evaluation.step = step;
    evaluation.classes = 2;
    for (int i = 0; i < 300; ++i) evaluation.image_losses.push_back(static_cast<float>(i));
    evaluation.predicted.assign(300, 1);
    training::summarize(evaluation, set.labels.data());
    return evaluation;
  }
  /// As a training does: first the status, then the predictions.
  void write(std::uint64_t step, std::uint64_t generation = 0) const {
    write_status_of(step, generation);
    training::RunPredictions(run()).write(training::worst_predictions(evaluated(step), set, generation));
  }
  void write_status_of(std::uint64_t step, std::uint64_t generation = 0) const {
    training::Snapshot status = status_at(step);
    status.classifies = true;
    status.generation = generation;
    status.evaluation = std::make_shared<training::Evaluation>(evaluated(step));
    write_status(status);
  }
  /// Waits until images of an evaluation after `step` steps are shown.
  bool wait_for_predictions(std::uint64_t step) {
    return wait_until([step](const training::Snapshot& now) {
      return now.evaluation && now.evaluation->step == step && !now.evaluation->predicted.empty();
    });
  }
  bool wait_for_figures_alone(std::uint64_t step, std::uint64_t generation = 0) {
    return wait_until([=](const training::Snapshot& now) {
      return now.evaluation && now.evaluation->step == step && now.evaluation->predicted.empty() &&
             now.generation == generation;
    });
  }

  data::ImageSet set;
};

TEST_F(ViewedClassifier, PredictionsAreShownAndFollow) {
  const Lock lock(run());
  write(10);
  open();
  ASSERT_TRUE(wait_for_predictions(10));
  auto now = source->snapshot();
  ASSERT_TRUE(now->data);
  EXPECT_EQ(now->data->classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(now->data->test.count, 256);
  EXPECT_EQ(now->data->whole->test.pixels.front(), set.pixels[std::size_t{44} * 4]);
  EXPECT_EQ(now->evaluation->positions.front(), 44u);
  EXPECT_EQ(now->evaluation->image_losses.back(), 299.0f);
  EXPECT_EQ(now->evaluation->confusion, (std::vector<std::uint32_t>{0, 150, 0, 150})) << "of all images";
  EXPECT_EQ(now->last_test[training::Metric::loss], 0.25f) << "that of the points";
  EXPECT_EQ(now->last_test[training::Metric::accuracy], 0.75f);
  const auto data = now->data;
  append_text(run() / "metrics.jsonl", step_line(2, 0.4));
  ASSERT_TRUE(wait_for_step(2));
  EXPECT_EQ(source->snapshot()->data, data) << "the same images are not shown anew";
  write(20);
  ASSERT_TRUE(wait_for_predictions(20));
  EXPECT_NE(source->snapshot()->data, data);
}

TEST_F(ViewedClassifier, OfAValidationSetTheyLieThere) {
  training::Evaluation evaluation = evaluated(10);
  evaluation.split = training::Split::validation;
  write_status_of(10);
  training::RunPredictions(run()).write(training::worst_predictions(evaluation, set, 0));
  open();
  ASSERT_TRUE(wait_for_predictions(10));
  EXPECT_EQ(source->snapshot()->data->validation.count, 256);
  EXPECT_EQ(source->snapshot()->data->test.count, 0);
}

TEST_F(ViewedClassifier, WithoutPredictionsTheFiguresStay) {
  write_status_of(10);
  open();
  ASSERT_TRUE(wait_for_figures_alone(10));
  EXPECT_EQ(source->snapshot()->data->test.count, 0);
  EXPECT_EQ(source->snapshot()->notice, "");
}

TEST_F(ViewedClassifier, PredictionsOfAnotherGenerationAreNotShown) {
  const Lock lock(run());
  write(10);
  open();
  ASSERT_TRUE(wait_for_predictions(10));
  append_text(run() / "metrics.jsonl", marker_line(0, "reset") + step_line(1, 0.5));
  write_status_of(5, 1);
  ASSERT_TRUE(wait_for_figures_alone(5, 1)) << "the points may be read after the status";
  write(6, 1);
  ASSERT_TRUE(wait_for_predictions(6));
}

TEST_F(ViewedClassifier, PredictionsThatAResumeHasCutOffAreNotShown) {
  write(30);
  write_status_of(20);
  open();
  ASSERT_TRUE(wait_for_figures_alone(20));
}

TEST_F(ViewedClassifier, WithoutAStatusTheyAreShown) {
  training::RunPredictions(run()).write(training::worst_predictions(evaluated(10), set, 0));
  open();
  ASSERT_TRUE(wait_for_predictions(10));
}

TEST_F(ViewedClassifier, DamagedPredictionsLeaveTheLastGoodOnesWithANotice) {
  const Lock lock(run());
  write(10);
  open();
  ASSERT_TRUE(wait_for_predictions(10));
  tests::write_text(run() / "images" / "predictions.json", "{}");
  ASSERT_TRUE(wait_until([](const training::Snapshot& now) {
    return now.notice.find("predictions.json") != std::string::npos;
  }));
  EXPECT_EQ(source->snapshot()->evaluation->predicted.size(), 256u);
  write(20);
  ASSERT_TRUE(wait_for_predictions(20));
}

}  // namespace
}  // namespace warpscope::runs::run_source_test
