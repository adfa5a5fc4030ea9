// Moments of a training, and the way back to any of its steps.

#include "gpu/training/moments.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::moments_test {
namespace {

using tests::FeedLog;
using tests::wait_for_notice;
using tests::wait_for_step;
using tests::wait_until;

TEST(Moments, AreTheCloserTheNewerWhereThereIsNoRoomForAll) {
  constexpr std::size_t kRoom = 12;
  constexpr std::uint64_t kSteps = 4096, kChange = 100;
  std::vector<MomentPlace> kept;
  for (std::uint64_t step = 0; step <= kSteps; ++step) {
    kept.push_back({step, step == kChange});
    if (kept.size() > kRoom) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(thinned_out(kept)));
  }
  EXPECT_EQ(kept.front().step, 0u);
  EXPECT_EQ(kept.back().step, kSteps);
  EXPECT_TRUE(std::ranges::any_of(kept, &MomentPlace::matters)) << "what was before a change stays longer";
  for (std::size_t i = 1; i < kept.size(); ++i) {
    EXPECT_LE(kept[i].step - kept[i - 1].step, kSteps / 2) << "behind step " << kept[i - 1].step;
  }
}

void take(Moments& moments, std::uint64_t step, bool guards = false, bool only_guards = false) {
  Moment moment;
  moment.step = step;
  moment.guards = guards;
  moment.only_guards = only_guards;
  moments.expect(std::move(moment));
  moments.before_point(kNoLastStep, {}, {}, {});
  EngineState state;
  state.parameters.resize(1000);
  state.steps = step;
  moments.arrive(std::move(state));
}

TEST(Moments, TakeNoMoreThanTheirBudget) {
  constexpr std::size_t kBudget = 20'000;  // four states of 4,000 bytes and what belongs to them
  Moments moments(kBudget);
  moments.begin(0);
  for (std::uint64_t step = 0; step < 50; ++step) {
    take(moments, step);
    EXPECT_LE(moments.bytes(), kBudget);
  }
  EXPECT_EQ(moments.take_list()->size(), 4u);
  EXPECT_EQ(moments.take_list(), nullptr) << "nothing new";
}

TEST(Moments, ThatGuardAreThereUntilThereIsANewerOne) {
  Moments moments(0);
  moments.begin(0);
  EXPECT_EQ(moments.newest(), nullptr);
  take(moments, 10, true, true);
  ASSERT_NE(moments.newest(), nullptr);
  EXPECT_EQ(moments.newest()->step, 10u);
  EXPECT_EQ(moments.state_of(*moments.newest())->steps, 10u);
  EXPECT_EQ(moments.bytes(), 0u) << "it is not kept to go back to";
  EXPECT_TRUE(moments.take_list()->empty());
  take(moments, 20, true, true);
  EXPECT_EQ(moments.newest()->step, 20u);
  moments.break_off(20);
  EXPECT_EQ(moments.newest(), nullptr) << "the weights are others now";
  take(moments, 20, true, true);
  EXPECT_NE(moments.newest(), nullptr);
  moments.begin(1);
  EXPECT_EQ(moments.newest(), nullptr) << "another training begins";
}

TEST(Moments, ThatAreKeptGuardToo) {
  Moments moments(1 << 20);
  moments.begin(0);
  take(moments, 10, true);
  take(moments, 20, true, true);
  take(moments, 30);
  EXPECT_EQ(moments.newest()->step, 20u) << "of those that guard";
  EXPECT_EQ(*moments.take_list(), (std::vector<std::uint64_t>{10, 30}));
}

TEST(Moments, ArePartOfThePastOfEachTrainingThatGoesOnFromThere) {
  Moments moments(1 << 20);
  moments.begin(0);
  for (const std::uint64_t step : {0, 10, 20}) take(moments, step);
  moments.begin(1, 0, 15);
  take(moments, 15);
  EXPECT_EQ(*moments.take_list(), (std::vector<std::uint64_t>{0, 10, 15}));
  EXPECT_EQ(moments.find(12)->step, 10u);
  EXPECT_EQ(moments.find(30)->step, 15u);
  moments.break_off(30);
  EXPECT_EQ(moments.find(31), nullptr) << "steps behind other weights do not follow from it";
  moments.begin(2, 0, 20);
  EXPECT_EQ(*moments.take_list(), (std::vector<std::uint64_t>{0, 10, 20}))
      << "the branch is the training again";
}

TEST(Moments, LeadAcrossTheBeginningOfAGenerationThatHasNone) {
  Moments moments(1 << 20);
  moments.begin(0);
  for (const std::uint64_t step : {0, 10}) take(moments, step);
  moments.note_change(5, nullptr, {});
  EXPECT_FALSE(moments.leads_to(0, 5, 1, 0)) << "with the change or without it?";
  EXPECT_TRUE(moments.leads_to(0, 5, 0, 0));
  ASSERT_TRUE(moments.leads_to(0, 8, 1, 0));
  moments.begin(1, 0, 8, true);
  EXPECT_EQ(moments.find(20)->step, 0u);
  ASSERT_NE(moments.branch_at(0, 8, 20), nullptr);
  EXPECT_EQ(moments.branch_at(0, 8, 20)->generation, 1u);
  EXPECT_EQ(moments.branch_at(0, 8, 20)->changes, 1u);
  EXPECT_EQ(moments.branch_at(0, 8, 8), nullptr) << "it ends there";
  EXPECT_EQ(moments.branch_at(1, 8, 20), nullptr) << "it is in it already";
  moments.break_off(15);
  EXPECT_EQ(moments.find(15)->step, 0u);
  EXPECT_EQ(moments.find(20), nullptr);
  EXPECT_FALSE(moments.leads_to(1, 15, 1, 0));
}

/// Adam, shuffled images, a warm-up: 10 steps, another rate, 20 steps more.
TrainerOptions paused_options() {
  TrainerOptions options = tests::tiny_trainer_options();
  options.model = tests::tiny_classifier();
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(48, 12));
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  options.schedule = parse_schedule("constant:warmup=1");
  options.start_paused = true;
  return options;
}

constexpr std::uint64_t kChanged = 10, kBetween = 17, kEnd = 30;
constexpr float kOtherRate = 0.02f;

void take_steps(Trainer& trainer, std::uint64_t until) {
  for (std::uint64_t step = trainer.snapshot()->step; step < until; ++step) trainer.send(StepOnce{});
  wait_for_step(trainer, until);
}

void change_rate(Trainer& trainer) {
  trainer.send(tests::change("learning_rate", static_cast<double>(kOtherRate)));
  ASSERT_TRUE(tests::wait_for_commands(trainer));
}

void train(Trainer& trainer, std::uint64_t until) {
  take_steps(trainer, kChanged);
  change_rate(trainer);
  take_steps(trainer, until);
}

bool rewind(Trainer& trainer, std::uint64_t step) {
  const std::uint64_t generation = trainer.snapshot()->generation;
  trainer.send(RewindTo{step});
  return wait_until(trainer, [=](const Snapshot& now) {
    return now.generation > generation && now.step == step && now.state == TrainerState::paused;
  });
}

TEST(Rewind, GoesBackToBeforeAChangeAndToAStepBetweenBitForBit) {
  Trainer trainer(paused_options());
  FeedLog feed(trainer.subscribe());
  train(trainer, kEnd);
  const std::vector<float> first = feed.curves()[0];
  ASSERT_EQ(first.size(), kEnd);
  const float rate = trainer.snapshot()->settings->optimizer.learning_rate;
  ASSERT_EQ(rate, kOtherRate);
  ASSERT_TRUE(rewind(trainer, kBetween));
  EXPECT_EQ(trainer.snapshot()->settings->optimizer.learning_rate, kOtherRate);
  take_steps(trainer, kEnd);
  EXPECT_EQ(feed.curves()[1], first);
  ASSERT_TRUE(rewind(trainer, kChanged));
  EXPECT_NE(trainer.snapshot()->settings->optimizer.learning_rate, kOtherRate) << "from before the change";
  EXPECT_EQ(feed.all<Marker>().back().text, "went back to step 10") << "it is kept";
  change_rate(trainer);
  take_steps(trainer, kEnd);
  EXPECT_EQ(feed.curves()[2], first);
  ASSERT_TRUE(rewind(trainer, 1)) << "of a past that is two generations away";
  EXPECT_EQ(trainer.snapshot()->figures.steps, 1u);
}

TEST(Rewind, LeavesWhatCameAfterToReturnTo) {
  Trainer reference(paused_options());
  FeedLog whole(reference.subscribe());
  train(reference, kEnd + 3);
  Trainer trainer(paused_options());
  FeedLog feed(trainer.subscribe());
  train(trainer, kEnd);
  ASSERT_TRUE(rewind(trainer, kBetween));
  ASSERT_EQ(trainer.snapshot()->left->size(), 1u);
  EXPECT_EQ(trainer.snapshot()->left->front().step, kEnd);
  trainer.send(ReturnTo{0});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.training == 0 && now.step == kEnd; }));
  take_steps(trainer, kEnd + 3);
  EXPECT_EQ(feed.curves()[2], whole.curves()[0]);
}

std::string refusal(Trainer& trainer, std::uint64_t step) {
  const std::uint64_t notices = trainer.snapshot()->notice_id;
  trainer.send(RewindTo{step});
  return wait_for_notice(trainer, notices + 1) ? trainer.snapshot()->notice : "";
}

TEST(Rewind, SaysWhyAStepCannotBeReached) {
  TrainerOptions options = paused_options();
  Trainer trainer(options);
  take_steps(trainer, 3);
  EXPECT_TRUE(tests::holds(refusal(trainer, 4), {"step 4 lies ahead"}));
  EXPECT_EQ(trainer.snapshot()->step, 3u);
  options.moments_mib = 0;
  Trainer without(options);
  take_steps(without, 3);
  EXPECT_TRUE(tests::holds(refusal(without, 2), {"no moments are kept", "--moments"}));
}

}  // namespace
}  // namespace warpscope::training::moments_test
