// Runs that are looked at: what a checkpoint shows of the inside of a training.

#include "gpu/training/viewed_run.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/runs/checkpoint_store.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/checkpoints.h"
#include "tests/support/tiny_trainer.h"
#include "tests/support/waiting.h"

namespace warpscope::training::viewed_run_test {
namespace {

using tests::eventually;
using tests::tiny_trainer_options;
using tests::wait_for_state;
using tests::wait_until;

Observe inspect(std::int64_t image) {
  Observe observe;
  observe.request.inspected_image = image;
  observe.request.inspected_parameters = 1;
  return observe;
}

std::shared_ptr<const Inspection> inspection_at(const Source& source, std::uint64_t step) {
  std::shared_ptr<const Inspection> found;
  EXPECT_TRUE(eventually([&] {
    found = source.observations().inspection;
    return found && found->step == step;
  }));
  return found;
}

std::string sentence_of(const Source& source) {
  return source.snapshot()->revival ? source.snapshot()->revival->problem : "no run is looked at";
}

/// A run of the tiny network that ends after some steps, and then after more of them.
class Viewed : public testing::Test {
 protected:
  std::string run() const { return (folder_ / "run").string(); }

  /// Trains until so many steps are done. What the training shows of test image 3 at its end.
  std::shared_ptr<const Inspection> train_until(std::uint64_t steps) {
    TrainerOptions options = tiny_trainer_options();
    options.steps = steps;
    (std::filesystem::exists(run()) ? options.resume_dir : options.run_dir) = run();
    Trainer trainer(options);
    EXPECT_TRUE(wait_for_state(trainer, TrainerState::finished));
    trainer.send(inspect(3));
    return inspection_at(trainer, steps);
  }
  TrainerOptions looking() const {
    TrainerOptions options = tiny_trainer_options();
    options.viewed_run = run();
    options.start_paused = true;
    options.keeps_moments = false;
    return options;
  }

  const tests::TemporaryFolder folder_;
};

void expect_same(const Inspection& seen, const Inspection& trained) {
  EXPECT_EQ(seen.parameters, trained.parameters);
  ASSERT_EQ(seen.outputs.size(), trained.outputs.size());
  for (std::size_t i = 0; i < seen.outputs.size(); ++i)
    EXPECT_EQ(seen.outputs[i].values, trained.outputs[i].values) << "output " << i;
}

TEST_F(Viewed, ActivationsOfACheckpointAreThoseOfTheTrainingBitForBit) {
  const auto at_3 = train_until(3), at_7 = train_until(7);
  Trainer view(looking());
  ASSERT_TRUE(wait_for_state(view, TrainerState::paused));
  EXPECT_EQ(view.snapshot()->step, 7u) << "the newest one";
  view.send(inspect(3));
  expect_same(*inspection_at(view, 7), *at_7);
  view.send(LookAt{4});
  expect_same(*inspection_at(view, 3), *at_3);
  view.send(LookAt{});
  expect_same(*inspection_at(view, 7), *at_7);
}

TEST_F(Viewed, LookingAtARunChangesNothingInItsFolder) {
  train_until(3);
  const auto checkpoint = to_look_at(run(), 0, tests::tiny_model());
  {
    Trainer view(looking());
    ASSERT_TRUE(wait_for_state(view, TrainerState::paused));
    Observe observe;
    observe.request.distributions = true;  // with the gradients of a step, which is taken back
    view.send(observe);
    ASSERT_TRUE(eventually([&] {
      const auto seen = view.observations().distributions;
      return seen && !seen->moments.empty();
    }));
    const DistributionMoment& moment = *view.observations().distributions->moments.back();
    EXPECT_EQ(moment.step, 3u);
    ASSERT_TRUE(moment.distributions.contains({1, Quantity::gradients}));
    EXPECT_GT(moment.find(1, Quantity::gradients)->squares, 0);
    EXPECT_FALSE(moment.distributions.contains({1, Quantity::updates})) << "there was no step";
    view.send(CheckDeterminism{});
    ASSERT_TRUE(wait_until(view, [](const Snapshot& now) { return now.determinism != nullptr; }));
    view.send(CopyWeights{1});
    ASSERT_TRUE(eventually([&] { return view.observations().weights != nullptr; }));
    EXPECT_EQ(view.observations().weights->parameters, checkpoint.weights);
  }
  EXPECT_EQ(list_checkpoints(run()).size(), 1u);
  EXPECT_EQ(to_look_at(run(), 0, tests::tiny_model()).weights, checkpoint.weights);
}

TEST_F(Viewed, ATrainingIsNotLookedAtByCheckpoints) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(LookAt{1});
  ASSERT_TRUE(tests::wait_for_notice(trainer, 1));
  EXPECT_EQ(trainer.snapshot()->step, 0u);
}

TEST_F(Viewed, DataThatAreNotThoseOfTheRunAreToldInASentenceAndTheCurvesStay) {
  train_until(3);  // on images that no option finds again
  ViewedRun view(run());
  EXPECT_TRUE(view.snapshot()->can.look_inside) << "nobody has asked";
  EXPECT_FALSE(view.snapshot()->revival->asked);
  view.send(inspect(3));
  ASSERT_TRUE(eventually([&] { return !sentence_of(view).empty(); }));
  EXPECT_FALSE(view.snapshot()->can.look_inside);
  EXPECT_TRUE(eventually([&] { return view.snapshot()->step == 3; }));
  EXPECT_EQ(view.snapshot()->revival->steps, std::vector<std::uint64_t>{3});
}

TEST_F(Viewed, ARunWithoutCheckpointsSaysSoBeforeAnybodyAsks) {
  train_until(3);
  std::filesystem::remove_all(checkpoint_folder(run()));
  const ViewedRun view(run());
  EXPECT_EQ(sentence_of(view), "the run has no checkpoint to look into");
  EXPECT_FALSE(view.snapshot()->can.look_inside);
}

TEST_F(Viewed, CheckpointsOfAnEarlierNetworkAreRefusedBeforeAnybodyChoosesThem) {
  train_until(3);
  models::Model earlier = tests::tiny_model();
  earlier.layers[0].out_channels += 2;
  models::fit_layers(earlier);
  const std::filesystem::path file = checkpoint_folder(run()) / "step-000000002.safetensors";
  save_checkpoint(file, tests::sample_checkpoint(earlier, ops::UpdateRule::sgd), earlier);
  const ViewedRun view(run());
  const Revival revival = *view.snapshot()->revival;
  EXPECT_EQ(revival.steps, (std::vector<std::uint64_t>{2, 3}));
  ASSERT_EQ(revival.refused.size(), 1u);
  EXPECT_EQ(revival.refused[0].step, 2u);
  EXPECT_TRUE(tests::holds(revival.refused[0].why, {"earlier network", "other layers"}));
}

TEST_F(Viewed, ItsVariantsAreVerifiedAndTimedHereAndNothingIsTakenForDisturbed) {
  train_until(3);
  ViewedRun view(run(), "cpu");
  const auto laboratory = [&] { return view.jobs()->states().laboratory; };
  const auto ended = [&](jobs::Job job) {
    return eventually([&] { return laboratory()->last == job && laboratory()->running == jobs::Job::none; });
  };
  verify::VerifyOptions verified;
  verified.shapes = 1;
  verified.ops = {ops::Op::relu_forward};
  view.jobs()->ask(jobs::Verify{verified});
  ASSERT_TRUE(ended(jobs::Job::verify));
  EXPECT_FALSE(laboratory()->verify.empty());
  profiling::BenchOptions timed;
  timed.samples = 3;
  timed.seconds = 0.01;
  timed.precisions = {core::Precision::fp32};
  timed.only = "loops";
  view.jobs()->ask(jobs::Bench{{tests::tiny_model(), {.batch = 2}, {}}, timed});
  ASSERT_TRUE(ended(jobs::Job::bench));
  EXPECT_EQ(laboratory()->failure, "");
  EXPECT_FALSE(laboratory()->bench.empty());
  EXPECT_FALSE(laboratory()->bench_disturbed);
}

TEST_F(Viewed, ARunIsRevivedOnceSomebodyAsksAndFollowsNewerCheckpoints) {
  TrainerOptions options = tiny_trainer_options();
  options.model = models::find_model("mlp");
  options.data_set = nullptr;
  options.data = "builtin";
  options.run_dir = run();
  options.steps = 2;
  { EXPECT_TRUE(Trainer(options).wait(tests::kPatience)); }
  ViewedRun view(run(), "cpu");
  view.send(inspect(3));
  ASSERT_NE(inspection_at(view, 2), nullptr);
  ASSERT_TRUE(eventually([&] { return view.snapshot()->revival->ready || !sentence_of(view).empty(); }));
  EXPECT_EQ(sentence_of(view), "");
  EXPECT_EQ(view.snapshot()->revival->step, 2u);
  ASSERT_TRUE(eventually([&] { return view.snapshot()->evaluation != nullptr; }));
  EXPECT_EQ(view.snapshot()->evaluation->step, 2u);
  EXPECT_GT(view.snapshot()->data->test.count, 3) << "the data set, not what the folder keeps of it";
  options.run_dir = "";
  options.resume_dir = run();
  options.steps = 4;
  { EXPECT_TRUE(Trainer(options).wait(tests::kPatience)); }
  ASSERT_NE(inspection_at(view, 4), nullptr);
  view.send(LookAt{2});
  ASSERT_NE(inspection_at(view, 2), nullptr);
  EXPECT_TRUE(eventually([&] { return view.snapshot()->revival->step == 2; }));
}

}  // namespace
}  // namespace warpscope::training::viewed_run_test
