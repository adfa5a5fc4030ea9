// What views show at earlier steps, recorded while a training runs: how often it is looked at, and what the run has of
// it.

#include "gpu/training/recorded_looks.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/messages/evaluation.h"
#include "gpu/messages/inspection.h"
#include "gpu/runs/run_source.h"
#include "gpu/runs/view_file.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::recorded_looks_test {
namespace {

namespace fs = std::filesystem;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

constexpr double kShare = 0.005;

/// A training whose steps and looks take as long as the test says.
struct FakeTraining {
  LookBudget::Clock::time_point now{std::chrono::hours(1)};
  LookBudget budget{kShare};
  double trained = 0, looked = 0;
  int looks = 0;

  void pass(double seconds) {
    now += std::chrono::duration_cast<LookBudget::Clock::duration>(std::chrono::duration<double>(seconds));
  }
  /// Steps of a training that somebody would look at after each of them.
  void train(int steps, double step_seconds, double look_seconds) {
    for (int i = 0; i < steps; ++i) {
      budget.pass(now, true);
      if (budget.allows(look_seconds)) {
        budget.spend(look_seconds);
        pass(look_seconds);
        looked += look_seconds;
        ++looks;
      }
      pass(step_seconds);
      trained += step_seconds;
    }
  }
};

TEST(LookBudget, LooksTakeNoMoreThanTheirShareOfTheTimeAtAnyTime) {
  for (const double look : {1e-5, 3e-3, 0.2}) {
    FakeTraining training;
    for (int second = 1; second <= 200; ++second) {
      training.train(1000, 1e-3, look);
      ASSERT_LE(training.looked, kShare * (training.trained + training.looked) + 1e-9) << look;
    }
    EXPECT_GE(training.looked + look, 0.9 * kShare * training.trained) << look << ": and they come";
  }
}

TEST(LookBudget, ALookThatTakesMoreThanWasThoughtIsPaidForBeforeTheNext) {
  FakeTraining training;
  training.train(2000, 1e-3, 1e-3);
  training.budget.spend(1);
  const int before = training.looks;
  training.train(190'000, 1e-3, 1e-3);
  EXPECT_EQ(training.looks, before);
  training.train(20'000, 1e-3, 1e-3);
  EXPECT_GT(training.looks, before);
}

TEST(LookBudget, PausesDoNotCount) {
  FakeTraining training;
  training.budget.pass(training.now, false);
  training.pass(1000);
  training.budget.pass(training.now, false);
  EXPECT_FALSE(training.budget.allows(1e-3));
  training.budget.pass(training.now, true);
  training.pass(1);
  training.budget.pass(training.now, false);
  EXPECT_TRUE(training.budget.allows(1e-3));
}

/// The steps of each kind, in the order in which they were recorded.
std::map<ViewKind, std::vector<std::uint64_t>> recorded_in(const fs::path& run,
                                                           std::uint64_t generation = 0) {
  std::map<ViewKind, std::vector<std::uint64_t>> steps;
  runs::ViewReader reader(run);
  for (const KeptView& view : reader.take(generation, number_of(tests::tiny_model())))
    steps[key_of(view.seen).first].push_back(step_of(view.seen));
  EXPECT_EQ(reader.objection(true), "");
  return steps;
}

class Recorded : public testing::Test {
 protected:
  std::string run() const { return (folder_ / "run").string(); }
  TrainerOptions options(std::uint64_t steps) const {
    TrainerOptions options = tests::tiny_trainer_options();
    options.run_dir = run();
    options.steps = steps;
    options.test_every = 20;
    options.recorded_share = 1000;  // each look that is due
    return options;
  }
  static void train(const TrainerOptions& options) {
    Trainer trainer(options);
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  }

  const tests::TemporaryFolder folder_;
};

TEST_F(Recorded, ATrainingThatNobodyLooksAtHasAllKindsAtStepsEvenOnALogarithm) {
  train(options(2000));
  const auto recorded = recorded_in(run());
  for (const ViewKind kind : {ViewKind::activations, ViewKind::latents, ViewKind::predictions,
                              ViewKind::times, ViewKind::distributions}) {
    const auto found = recorded.find(kind);
    if (kind == ViewKind::times && found == recorded.end()) continue;  // of steps that took no time
    ASSERT_NE(found, recorded.end()) << static_cast<int>(kind);
    EXPECT_TRUE(std::ranges::is_sorted(found->second)) << static_cast<int>(kind);
    EXPECT_EQ(found->second.back(), 2000u) << "the end";
  }
  const auto& places = recorded.at(ViewKind::latents);
  EXPECT_GT(places.size(), 1u);
  EXPECT_LT(places.size(), 200u) << "and not each step";
}

TEST_F(Recorded, LooksThatWouldTakeTooLongAreNotMadeButTheLastOnes) {
  TrainerOptions shy = options(100);
  shy.recorded_share = 0;
  train(shy);
  const auto recorded = recorded_in(run());
  const std::set<std::uint64_t> steps(recorded.at(ViewKind::activations).begin(),
                                      recorded.at(ViewKind::activations).end());
  EXPECT_EQ(steps, std::set<std::uint64_t>{100});
}

TEST_F(Recorded, WithoutABudgetThereIsNoFile) {
  TrainerOptions none = options(50);
  none.keep_history_mib = 0;
  train(none);
  EXPECT_TRUE(fs::exists(fs::path(run()) / "metrics.jsonl"));
  EXPECT_FALSE(fs::exists(runs::views_file(run())));
}

TEST_F(Recorded, OfATrainingThatNobodyRecordsNothingIsTold) {
  TrainerOptions alone = options(50);
  alone.run_dir.clear();
  Trainer trainer(alone);
  tests::FeedLog log(trainer.subscribe());
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  EXPECT_TRUE(log.all<KeptView>().empty());
}

TEST_F(Recorded, WhatAWindowAsksForIsThere) {
  TrainerOptions watched = options(0);
  watched.recorded_share = 0;
  watched.start_paused = true;
  {
    Trainer trainer(watched);
    Observe observe;
    observe.request.inspected_image = 9;
    observe.request.activations_of = 2;
    trainer.send(observe);
    for (int i = 0; i < 3; ++i) trainer.send(StepOnce{});
    ASSERT_TRUE(wait_for_step(trainer, 3));
    ASSERT_TRUE(tests::eventually([&] {
      const Observations seen = trainer.observations();
      return seen.inspection && seen.inspection->step == 3 && seen.activations && seen.activations->step == 3;
    }));
  }
  runs::ViewReader reader(run());
  std::set<ViewKey> keys;
  for (const KeptView& view : reader.take(0, number_of(tests::tiny_model()))) keys.insert(key_of(view.seen));
  EXPECT_TRUE(keys.contains({ViewKind::activations, 9}));
  EXPECT_TRUE(keys.contains({ViewKind::answers, 2}));
}

TEST_F(Recorded, ARunThatGoesOnTellsWhatItHasAndAddsToIt) {
  train(options(60));
  const auto before = recorded_in(run());
  TrainerOptions more = options(120);
  more.run_dir.clear();
  more.resume_dir = run();
  Trainer trainer(more);
  tests::FeedLog log(trainer.subscribe());
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  std::vector<std::uint64_t> told;
  for (const KeptView& view : log.all<KeptView>()) {
    if (key_of(view.seen) == ViewKey{ViewKind::latents, 0}) told.push_back(step_of(view.seen));
  }
  const auto& first = before.at(ViewKind::latents);
  ASSERT_GE(told.size(), first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), told.begin()));
  EXPECT_EQ(told.back(), 120u);
  EXPECT_EQ(recorded_in(run()).at(ViewKind::latents), told);
}

TEST_F(Recorded, AResetBeginsAnew) {
  TrainerOptions reset = options(0);
  reset.start_paused = true;
  {
    Trainer trainer(reset);
    const auto steps = [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) trainer.send(StepOnce{});
      return wait_for_step(trainer, count);
    };
    tests::FeedLog log(trainer.subscribe());
    trainer.send(Resume{});
    ASSERT_TRUE(tests::eventually([&] {
      return std::ranges::any_of(log.all<KeptView>(), [](const KeptView& view) {
        return key_of(view.seen).first == ViewKind::latents;
      });
    }));
    trainer.send(Pause{});
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
    trainer.send(Reset{});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 1; }));
    ASSERT_TRUE(steps(3));
    trainer.send(Leave{});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.may_close; }));
  }
  for (const auto& [kind, steps] : recorded_in(run(), 1))
    EXPECT_EQ(steps.back(), 3u) << static_cast<int>(kind);
  EXPECT_TRUE(recorded_in(run(), 1).contains(ViewKind::latents));
  EXPECT_TRUE(recorded_in(run(), 0).contains(ViewKind::latents)) << "an undone reset finds its own again";
}

/// The steps of latents that were told of a generation.
std::set<std::uint64_t> latents_told(tests::FeedLog& log, std::uint64_t generation) {
  std::set<std::uint64_t> steps;
  for (const KeptView& view : log.all<KeptView>()) {
    if (view.generation == generation && key_of(view.seen).first == ViewKind::latents)
      steps.insert(step_of(view.seen));
  }
  return steps;
}

TEST_F(Recorded, ATrainingThatIsReturnedToTellsItsViewsAgainAndRecordsThemOnce) {
  TrainerOptions left = options(0);
  left.start_paused = true;
  std::set<std::uint64_t> before;
  {
    Trainer trainer(left);
    tests::FeedLog log(trainer.subscribe());
    trainer.send(Resume{});
    ASSERT_TRUE(tests::eventually([&] { return latents_told(log, 0).size() > 2; }));
    trainer.send(Pause{});
    ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
    const std::uint64_t training = trainer.snapshot()->training;
    trainer.send(Reset{});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 1; }));
    before = latents_told(log, 0);
    trainer.send(StepOnce{});
    ASSERT_TRUE(wait_for_step(trainer, 1));
    trainer.send(StepOnce{});  // so that the reset is a line of its own
    ASSERT_TRUE(wait_for_step(trainer, 2));
    trainer.send(Reset{});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 2; }));
    trainer.send(ReturnTo{training});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.generation == 3; }));
    EXPECT_TRUE(tests::eventually([&] {
      const std::set<std::uint64_t> again = latents_told(log, 3);
      return std::ranges::includes(again, before);
    }));
    trainer.send(Leave{});
    ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.may_close; }));
  }
  const auto recorded = recorded_in(run(), 3).at(ViewKind::latents);
  EXPECT_EQ(std::ranges::count(recorded, *before.begin()), 1) << "it is not recorded once more";
}

TEST_F(Recorded, WhereTheFileCannotBeMadeTheRunIsRecordedWithout) {
  fs::create_directories(runs::views_file(run()));  // a folder stands where the file would
  train(options(20));
  EXPECT_TRUE(fs::exists(fs::path(run()) / "status.json"));
}

TEST_F(Recorded, AFinishedRunTellsItsViewsToWhoLooksAtIt) {
  train(options(200));
  runs::RunSource source(run());
  tests::FeedLog log(source.subscribe());
  ASSERT_TRUE(tests::eventually([&] { return !log.all<KeptView>().empty(); }));
  std::map<ViewKind, std::vector<std::uint64_t>> told;
  for (const KeptView& view : log.all<KeptView>())
    told[key_of(view.seen).first].push_back(step_of(view.seen));
  EXPECT_EQ(told, recorded_in(run()));
}

}  // namespace
}  // namespace warpscope::training::recorded_looks_test
