#include "gpu/training/trainer.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/models/parameters.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::trainer_test {
namespace {

using tests::FeedLog;
using tests::tiny_trainer_options;
using tests::wait_for_an_idle_round;
using tests::wait_for_notice;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

TEST(Trainer, GoesFromPreparingThroughRunningToFinished) {
  Trainer trainer(tiny_trainer_options());
  std::vector<TrainerState> states;
  EXPECT_TRUE(wait_until(trainer, [&](const Snapshot& now) {
    if (states.empty() || states.back() != now.state) states.push_back(now.state);
    if (now.state == TrainerState::running && now.step > 0) trainer.send(Finish{});
    return now.state == TrainerState::finished;
  }));
  if (states.front() == TrainerState::preparing) states.erase(states.begin());
  EXPECT_EQ(states, (std::vector<TrainerState>{TrainerState::running, TrainerState::finished}));
}

TEST(Trainer, EveryPointArrivesOnceInOrder) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  options.steps = 400;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  FeedLog second(trainer.subscribe());
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto curves = feed.curves();
  ASSERT_EQ(curves.size(), 1u);
  ASSERT_EQ(curves[0].size(), 400u);
  EXPECT_EQ(second.curves(), curves);
  Engine engine(tests::tiny_engine_options(), options.data_set, core::open_device("cpu"));
  EXPECT_EQ(curves[0], tests::losses(tests::run_steps(engine, 400))) << "the worker changes no numbers";
  EXPECT_EQ(trainer.snapshot()->step, 400u);
  EXPECT_EQ(trainer.snapshot()->epoch, 80.0);
  EXPECT_EQ(trainer.snapshot()->last[Metric::loss], curves[0].back());
}

TEST(Trainer, PointsCarryTimesRatesAndEpochs) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  options.steps = 50;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  double seconds = 0;
  const auto points = feed.steps();
  ASSERT_EQ(points.size(), 50u);
  for (const Point& point : points) {
    EXPECT_NEAR(point.epoch, static_cast<double>(point.step) / 5, 1e-9);
    EXPECT_EQ(point[Metric::learning_rate], 0.1f);
    EXPECT_GE(point.seconds, seconds);
    const double took = point[Metric::images_per_second] > 0
                            ? 8 / static_cast<double>(point[Metric::images_per_second])
                            : point.seconds - seconds;
    EXPECT_NEAR(point.seconds - seconds, took, 1e-9 + 1e-6 * took) << point.step << ": speeds are floats";
    seconds = point.seconds;
  }
  const auto end = trainer.snapshot();
  EXPECT_GT(end->seconds, 0);
  EXPECT_GT(end->images_per_second, 0);
  ASSERT_FALSE(end->timings.empty());
  for (const OpTiming& timing : end->timings) EXPECT_GT(timing.microseconds, 0) << timing.layer;
  EXPECT_EQ(end->parameters, 435u);
  EXPECT_GT(end->plan_bytes, 0u);
}

TEST(Trainer, TestsNowAndThenAndAtTheEnd) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  options.steps = 40;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto tests = feed.tests();
  ASSERT_GE(tests.size(), 2u);
  std::uint64_t last = 0;
  for (const Point& test : tests) {
    EXPECT_GT(test.step, last);
    last = test.step;
    EXPECT_GT(test[Metric::loss], 0);
    EXPECT_NEAR(test[Metric::psnr], -10 * std::log10(test[Metric::loss]), 6)
        << "a mean of logarithms, near the logarithm of the mean";
  }
  EXPECT_EQ(last, 40u);
  EXPECT_EQ(trainer.snapshot()->last_test[Metric::loss], tests.back()[Metric::loss]);
}

TEST(Trainer, TestsEverySoManyStepsWhereThatIsSaid) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  options.steps = 25;
  options.test_every = 7;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  std::vector<std::uint64_t> steps;
  for (const Point& test : feed.tests()) steps.push_back(test.step);
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{7, 14, 21, 25}));
}

TEST(Trainer, AnEvaluationThatEndsTheRunIsNotMadeAgain) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  options.steps = 100;
  options.test_every = 5;
  options.stop.target_loss = 1e9;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  trainer.send(Resume{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  ASSERT_EQ(feed.tests().size(), 1u);
  EXPECT_EQ(feed.tests().front().step, 5u);
}

TEST(Trainer, AnEvaluationBeforeADivergenceIsNotMadeAgain) {
  TrainerOptions options = tiny_trainer_options();
  options.optimizer.learning_rate = 1e6f;
  options.pause_on_divergence = true;
  options.start_paused = true;
  options.test_every = 2;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  trainer.send(Resume{});
  ASSERT_TRUE(wait_for_notice(trainer, 1));
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(Finish{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  std::uint64_t last = 0;
  for (const Point& test : feed.tests()) {
    EXPECT_GT(test.step, last);
    last = test.step;
  }
  EXPECT_EQ(last, trainer.snapshot()->step);
}

TEST(Trainer, StepsWithoutATimeOfTheirOwnAreRefused) {
  TrainerOptions options = tiny_trainer_options();
  options.test_every = 1;
  Trainer trainer(options);
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_TRUE(trainer.snapshot()->failed_by_input);
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"test_every 1", "take 2 or more, or 0"}));
}

TEST(Trainer, TimeGoesOnWhereEverySecondStepIsTested) {
  TrainerOptions options = tiny_trainer_options();
  options.steps = 6;
  options.test_every = 2;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto points = feed.steps();
  ASSERT_EQ(points.size(), 6u);
  EXPECT_GT(points[5].seconds, points[1].seconds);
  EXPECT_GT(trainer.snapshot()->images_per_second, 0);
}

TEST(Trainer, PauseStopsStepOnceStepsAndResumeGoesOn) {
  Trainer trainer(tiny_trainer_options());
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 20));
  trainer.send(Pause{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  const std::uint64_t paused = trainer.snapshot()->step;
  EXPECT_EQ(feed.steps().back().step, paused) << "all points are there when it says paused";
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  EXPECT_EQ(trainer.snapshot()->step, paused);
  for (std::uint64_t more = 1; more <= 3; ++more) {
    trainer.send(StepOnce{});
    ASSERT_TRUE(wait_for_step(trainer, paused + more));
    ASSERT_TRUE(wait_for_an_idle_round(trainer));
    EXPECT_EQ(trainer.snapshot()->step, paused + more);
    EXPECT_EQ(trainer.snapshot()->state, TrainerState::paused);
  }
  for (int i = 0; i < 5; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, paused + 8));
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  EXPECT_EQ(trainer.snapshot()->step, paused + 8);
  trainer.send(Resume{});
  ASSERT_TRUE(wait_for_step(trainer, paused + 30));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
}

TEST(Trainer, StepOnceWhileRunningPauses) {
  Trainer trainer(tiny_trainer_options());
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 5));
  trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  const std::uint64_t paused = trainer.snapshot()->step;  // the step that was asked for may be done by now
  const auto speed_of_last = [&] { return feed.steps().back()[Metric::images_per_second]; };
  ASSERT_TRUE(wait_until(trainer, [&](const Snapshot&) { return std::isnan(speed_of_last()); }))
      << "a step that comes after a pause has no time of its own";
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  EXPECT_TRUE(std::isnan(speed_of_last()));
  EXPECT_LE(trainer.snapshot()->step, paused + 1);
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::paused);
}

TEST(Trainer, WhoSubscribesFirstMissesNothing) {
  Trainer trainer(tiny_trainer_options());
  ASSERT_TRUE(wait_for_step(trainer, 8));
  FeedLog first(trainer.subscribe());
  trainer.send(Pause{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  const std::vector<Point> points = first.steps();
  ASSERT_GE(points.size(), 8u);
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i].step, i + 1);
}

TEST(Trainer, PausesAreNoTrainingTime) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 4; ++i) {
    trainer.send(StepOnce{});
    ASSERT_TRUE(wait_for_step(trainer, static_cast<std::uint64_t>(i + 1)));
  }
  const auto points = feed.steps();
  ASSERT_EQ(points.size(), 4u);
  for (const Point& point : points) EXPECT_TRUE(std::isnan(point[Metric::images_per_second])) << point.step;
  EXPECT_EQ(trainer.snapshot()->seconds, 0) << "no step came right after another, so none was timed";
}

TEST(Trainer, TheSmallerLimitWins) {
  for (const bool by_steps : {true, false}) {
    TrainerOptions options = tiny_trainer_options();
    options.epochs = 3;
    options.steps = by_steps ? 7 : 1000;
    Trainer trainer(options);
    ASSERT_TRUE(trainer.wait(tests::kPatience));
    EXPECT_EQ(trainer.snapshot()->steps_planned, by_steps ? 7u : 15u);
    EXPECT_EQ(trainer.snapshot()->step, by_steps ? 7u : 15u);
    EXPECT_EQ(trainer.snapshot()->state, TrainerState::finished);
  }
}

TEST(Trainer, EpochsAreCountedInImagesWhenTheBatchChanges) {
  TrainerOptions options = tiny_trainer_options();
  options.epochs = 3;
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 6; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 6));
  EXPECT_EQ(trainer.snapshot()->steps_planned, 15u);
  trainer.send(tests::change("batch", 16));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.settings->batch == 16; }));
  EXPECT_EQ(trainer.snapshot()->steps_planned, 6u + 2 + 2)
      << "32 images left of epoch 2, two batches of epoch 3";
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_EQ(trainer.snapshot()->step, 10u);
  EXPECT_EQ(trainer.snapshot()->epoch, 3.0);
}

TEST(Trainer, FinishesAtTheLimitEvenStepByStep) {
  TrainerOptions options = tiny_trainer_options();
  options.steps = 3;
  options.start_paused = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  for (int i = 0; i < 6; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::finished);
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  EXPECT_EQ(feed.curves()[0].size(), 3u);
}

TEST(Trainer, LateSubscribersAfterTheFirstGetOnlyWhatComes) {
  Trainer trainer(tiny_trainer_options());
  const std::shared_ptr<Feed> first = trainer.subscribe();
  ASSERT_TRUE(wait_for_step(trainer, 20));
  FeedLog feed(trainer.subscribe());
  const std::uint64_t step = trainer.snapshot()->step;
  ASSERT_TRUE(wait_for_step(trainer, step + 20));
  trainer.send(Pause{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_TRUE(feed.all<LogLine>().empty()) << "log lines of the start";
  const auto points = feed.steps();
  ASSERT_FALSE(points.empty());
  EXPECT_GE(points.front().step, 20u);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_EQ(points[i].step, points[i - 1].step + 1);
}

TEST(Trainer, EarlySubscribersGetTheStart) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  FeedLog feed(trainer.subscribe());
  EXPECT_EQ(feed.all<LogLine>().size(), 2u);
  trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, 1));
  EXPECT_EQ(feed.steps().size(), 1u);
}

TEST(Trainer, DivergenceFailsHeadless) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = tiny_trainer_options();
  options.optimizer.learning_rate = 1e6f;
  options.run_dir = (folder / "run").string();
  Trainer trainer(options);
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto end = trainer.snapshot();
  EXPECT_EQ(end->state, TrainerState::failed);
  EXPECT_FALSE(end->failed_by_input);
  EXPECT_TRUE(tests::holds(end->notice, {"the loss of step", "is not finite", "it begins in tensor",
                                         "lower learning rate than 1e+06"}));
}

TEST(Trainer, DivergencePausesAWindow) {
  TrainerOptions options = tiny_trainer_options();
  options.optimizer.learning_rate = 1e6f;
  options.pause_on_divergence = true;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  EXPECT_NE(trainer.snapshot()->notice.find("not finite"), std::string::npos);
  EXPECT_FALSE(std::isfinite(trainer.snapshot()->last[Metric::loss]));
  const Point last = feed.steps().back();
  EXPECT_TRUE(std::isnan(last[Metric::loss_scale])) << "only FP16 scales losses";
  EXPECT_FALSE(last.skipped);
  EXPECT_EQ(trainer.snapshot()->skipped_steps, 0u);

  trainer.send(Resume{});
  ASSERT_TRUE(wait_for_notice(trainer, 2)) << "told again when it goes on all the same";
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(tests::change("learning_rate", 0.1));
  trainer.send(Reset{});
  trainer.send(Resume{});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 1 && now.step >= 50; }));
  EXPECT_TRUE(std::isfinite(trainer.snapshot()->last[Metric::loss]));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
}

TEST(Trainer, ADivergedTrainingCanBeFinished) {
  TrainerOptions options = tiny_trainer_options();
  options.optimizer.learning_rate = 1e6f;
  options.pause_on_divergence = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(Finish{});
  EXPECT_TRUE(wait_for_state(trainer, TrainerState::finished));
}

TEST(Trainer, InputThatCannotBeIsSaidInOneSentence) {
  struct Case {
    std::string part;
    std::function<void(TrainerOptions&)> spoil;
  };
  const tests::TemporaryFolder folder;
  tests::write_text(folder / "used/run.json", "{}");
  const std::vector<Case> cases{
      {"/nonexistent/data",
       [](TrainerOptions& o) {
         o.data_set = nullptr;
         o.data = "/nonexistent/data";
         o.model = models::find_model("autoencoder");
       }},
      {"unknown device 'tpu'", [](TrainerOptions& o) { o.device = "tpu"; }},
      {"no operation has a variant 'fast' on cpu", [](TrainerOptions& o) { o.select = "all=fast"; }},
      {"fp16 is not possible on cpu",
       [](TrainerOptions& o) {
         o.precision = core::Precision::fp16;
         o.select = "";
       }},
      {"batch size 41 is not between 1 and the 40", [](TrainerOptions& o) { o.batch = 41; }},
      {"batch size -1 is not", [](TrainerOptions& o) { o.batch = -1; }},
      {"learning rate nan of the optimizer is not valid",
       [](TrainerOptions& o) { o.optimizer.learning_rate = std::nanf(""); }},
      {"model autoencoder takes 32x32x3",
       [](TrainerOptions& o) { o.model = models::find_model("autoencoder"); }},
      {"/nonexistent/w.safetensors", [](TrainerOptions& o) { o.init_file = "/nonexistent/w.safetensors"; }},
      {"holds a run already", [&](TrainerOptions& o) { o.run_dir = (folder / "used").string(); }},
  };
  for (const Case& bad : cases) {
    TrainerOptions options = tiny_trainer_options();
    bad.spoil(options);
    Trainer trainer(options);
    FeedLog feed(trainer.subscribe());
    ASSERT_TRUE(trainer.wait(tests::kPatience)) << bad.part;
    const auto end = trainer.snapshot();
    EXPECT_EQ(end->state, TrainerState::failed) << bad.part;
    EXPECT_TRUE(end->failed_by_input) << end->notice;
    EXPECT_TRUE(tests::holds(end->notice, {bad.part}));
    EXPECT_EQ(end->notice.find('\n'), std::string::npos);
    ASSERT_FALSE(feed.all<LogLine>().empty());
    EXPECT_EQ(feed.all<LogLine>().back().text, end->notice);
    trainer.send(Resume{});
    trainer.send(Finish{});
  }
}

TEST(Trainer, WhatTheDeviceCannotDoIsRefusedBeforeDataAreLoaded) {
  const auto refusal = [](core::Precision precision, const std::string& select) {
    TrainerOptions options = tiny_trainer_options();
    options.model = models::find_model("autoencoder");
    options.data_set = nullptr;
    options.data = "/nonexistent/folder";
    options.precision = precision;
    options.select = select;
    Trainer trainer(options);
    EXPECT_TRUE(trainer.wait(tests::kPatience));
    EXPECT_TRUE(trainer.snapshot()->failed_by_input);
    return trainer.snapshot()->notice;
  };
  const std::string fp16 = refusal(core::Precision::fp16, "");
  EXPECT_TRUE(tests::holds(fp16, {"fp16 is not possible on cpu (", "); valid: fp32, bf16"})) << fp16;
  EXPECT_TRUE(tests::holds(refusal(core::Precision::fp32, "all=winograd"), {"'winograd'", "valid: "}));
  EXPECT_TRUE(tests::holds(refusal(core::Precision::bf16, ""), {"/nonexistent/folder"}));
}

TEST(Trainer, WaitsOnlyAsLongAsAsked) {
  Trainer trainer(tiny_trainer_options());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(trainer.wait(0.05));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
  EXPECT_FALSE(trainer.wait(0));
}

// A trainer that did not stop would train for ever, and this test with it: these have no limit.
TEST(Trainer, StopsInAnyStateWithoutFinishing) {
  const auto stop = [](bool paused, std::uint64_t steps) {
    const tests::TemporaryFolder folder;
    TrainerOptions options = tiny_trainer_options();
    options.start_paused = paused;
    options.shown_images = 4;
    options.save_file = (folder / "end.safetensors").string();
    auto trainer = std::make_unique<Trainer>(options);
    FeedLog feed(trainer->subscribe());
    EXPECT_TRUE(!paused || wait_for_state(*trainer, TrainerState::paused));
    EXPECT_TRUE(wait_for_step(*trainer, steps));
    trainer.reset();
    EXPECT_FALSE(std::filesystem::exists(options.save_file));
    return feed.curves()[0].size();
  };
  for (int i = 0; i < 5; ++i) {
    stop(false, 0);
    EXPECT_GE(stop(false, 10), 10u) << "all steps told before the end are in the feed";
    EXPECT_EQ(stop(true, 0), 0u);
  }
}

TEST(Trainer, FeedsAndPicturesOutliveTheTrainer) {
  TrainerOptions options = tiny_trainer_options();
  options.shown_images = 4;
  auto trainer = std::make_unique<Trainer>(options);
  FeedLog feed(trainer->subscribe());
  ASSERT_TRUE(wait_for_step(*trainer, 20));
  const auto images = trainer->images();
  ASSERT_NE(images, nullptr);
  trainer.reset();
  EXPECT_GE(feed.curves()[0].size(), 20u);
  const ImageSlot* slot = images->acquire();
  ASSERT_NE(slot, nullptr);
  EXPECT_GT(slot->errors.as<float>()[0], 0.0f);
}

TEST(Trainer, ShowsPicturesOfTheNewestWeights) {
  TrainerOptions options = tiny_trainer_options();
  options.shown_images = 4;
  options.start_paused = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  const auto images = trainer.images();
  ASSERT_NE(images, nullptr);
  const auto shown = [&](std::uint64_t step, std::uint64_t after) {
    return wait_until(trainer, [&](const Snapshot&) {
      const ImageSlot* slot = images->acquire();
      return slot != nullptr && slot->step == step && slot->number > after;
    });
  };
  EXPECT_TRUE(shown(0, 0)) << "the untrained network";
  trainer.send(StepOnce{});
  EXPECT_TRUE(shown(1, 0));
  const std::uint64_t number = images->acquire()->number;
  trainer.send(Select{tests::all_of("reference")});
  EXPECT_TRUE(shown(1, number)) << "another variant may show other pictures";
  trainer.send(Reset{});
  EXPECT_TRUE(shown(0, number));
}

TEST(Trainer, ShowsAnotherNetworkOrSelectionAtOnceHoweverLongPicturesWouldWait) {
  TrainerOptions options = tiny_trainer_options();
  options.shown_images = 4;
  options.image_seconds = 1e6;
  options.start_paused = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  const auto images = trainer.images();
  const auto shown = [&](std::uint64_t number) {
    return wait_until(trainer, [&](const Snapshot&) {
      const ImageSlot* const slot = images->acquire();
      return slot != nullptr && slot->number == number;
    });
  };
  EXPECT_TRUE(shown(1));
  models::Model other = options.model;
  other.layers[0].out_channels *= 2;
  models::fit_layers(other);
  trainer.send(SetNetwork{other});
  EXPECT_TRUE(shown(2));
  trainer.send(Select{tests::all_of("reference")});
  EXPECT_TRUE(shown(3));
}

TEST(Trainer, HasNoPicturesIfNoneAreAskedFor) {
  Trainer trainer(tiny_trainer_options());
  ASSERT_TRUE(wait_for_step(trainer, 1));
  EXPECT_EQ(trainer.images(), nullptr);
}

}  // namespace
}  // namespace warpscope::training::trainer_test
