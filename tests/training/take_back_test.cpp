// Changes that are taken back with the weights, and what branches tell of their roots.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/training/moments.h"
#include "gpu/training/trainer.h"
#include "gpu/training/training_tree.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::take_back_test {
namespace {

using tests::FeedLog;
using tests::paused_classifier_options;
using tests::wait_for_step;
using tests::wait_until;

void take_steps(Trainer& trainer, std::uint64_t until) {
  for (std::uint64_t step = trainer.snapshot()->step; step < until; ++step) trainer.send(StepOnce{});
  wait_for_step(trainer, until);
}

/// Sends a command that has a number, and waits for the answer. True if it was not refused.
bool carry_out(Trainer& trainer, Command command) {
  const std::uint64_t number = trainer.snapshot()->answers.last + 1;
  trainer.send(std::move(command), number);
  wait_until(trainer, [=](const Snapshot& now) { return now.answers.last >= number && !now.rewind.running; });
  return !trainer.snapshot()->answers.is_refused(number);
}

std::uint64_t change(Trainer& trainer, const char* name, const Value& value) {
  EXPECT_TRUE(carry_out(trainer, tests::change(name, value)));
  return trainer.snapshot()->answers.last;
}

float rate(const Trainer& trainer) {
  return trainer.snapshot()->settings->optimizer.learning_rate;
}

TEST(TakeBack, GoesToBeforeTheChangeWeightsAndAllAndWhatCameAfterIsKept) {
  Trainer undisturbed(paused_classifier_options());
  FeedLog whole(undisturbed.subscribe());
  take_steps(undisturbed, 25);
  Trainer trainer(paused_classifier_options());
  FeedLog feed(trainer.subscribe());
  take_steps(trainer, 10);
  const float before = rate(trainer);
  const std::uint64_t changed = change(trainer, "learning_rate", 0.02);
  EXPECT_EQ(*trainer.snapshot()->changes, (std::vector<ChangeMade>{{changed, 10}}));
  take_steps(trainer, 18);
  ASSERT_TRUE(carry_out(trainer, TakeBack{changed}));
  const auto back = trainer.snapshot();
  EXPECT_EQ(back->step, 10u);
  EXPECT_EQ(back->state, TrainerState::paused);
  EXPECT_EQ(rate(trainer), before);
  EXPECT_TRUE(back->changes->empty()) << "it is not in the past of this training";
  ASSERT_EQ(back->left->size(), 1u);
  EXPECT_EQ(back->left->front().from, 10u);
  EXPECT_TRUE(tests::holds(back->left->front().changed, {"learning rate", "-> 0.02"}));
  EXPECT_TRUE(tests::holds(feed.all<Marker>().back().text, {"went back to step 10, before learning rate"}));
  take_steps(trainer, 25);
  EXPECT_EQ(feed.curves()[1], whole.curves()[0]) << "as if it had never been changed";
  ASSERT_TRUE(carry_out(trainer, ReturnTo{back->left->front().number}));
  EXPECT_EQ(trainer.snapshot()->step, 18u);
  EXPECT_EQ(rate(trainer), 0.02f);
  EXPECT_EQ(trainer.snapshot()->changes->size(), 1u) << "and it can be taken back once more";
}

TEST(TakeBack, WhatWasChangedBeforeItAtTheSameStepStays) {
  Trainer trainer(paused_classifier_options());
  take_steps(trainer, 5);
  change(trainer, "learning_rate", 0.02);
  const std::uint64_t second = change(trainer, "weight_decay", 0.25);
  take_steps(trainer, 9);
  ASSERT_TRUE(carry_out(trainer, TakeBack{second}));
  EXPECT_EQ(trainer.snapshot()->step, 5u);
  EXPECT_EQ(rate(trainer), 0.02f);
  EXPECT_EQ(trainer.snapshot()->settings->optimizer.weight_decay, 0.0f);
  EXPECT_EQ(trainer.snapshot()->changes->size(), 1u);
  EXPECT_EQ(trainer.snapshot()->left->front().changed, "weight decay: 0 -> 0.25");
}

TEST(TakeBack, OneAfterAnotherLeadsBackThroughBranches) {
  Trainer trainer(paused_classifier_options());
  FeedLog feed(trainer.subscribe());
  std::vector<std::uint64_t> changes;
  const float first = rate(trainer);
  for (const double wanted : {0.01, 0.02, 0.03}) {
    take_steps(trainer, trainer.snapshot()->step + 4);
    changes.push_back(change(trainer, "learning_rate", wanted));
  }
  take_steps(trainer, 16);
  ASSERT_TRUE(carry_out(trainer, TakeBack{changes[2]}));
  EXPECT_EQ(trainer.snapshot()->step, 12u);
  EXPECT_EQ(rate(trainer), 0.02f);
  ASSERT_TRUE(carry_out(trainer, TakeBack{changes[1]}));
  EXPECT_EQ(trainer.snapshot()->step, 8u);
  ASSERT_TRUE(carry_out(trainer, TakeBack{changes[0]}));
  EXPECT_EQ(trainer.snapshot()->step, 4u);
  EXPECT_EQ(rate(trainer), first);
  EXPECT_FALSE(carry_out(trainer, TakeBack{changes[0]}));
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"not a part of this training's past"}));
  EXPECT_EQ(trainer.snapshot()->step, 4u);
}

TEST(TakeBack, WithoutMomentsNothingIsOfferedAndItSaysWhy) {
  TrainerOptions options = paused_classifier_options();
  options.moments_mib = 0;
  Trainer trainer(options);
  take_steps(trainer, 3);
  const std::uint64_t changed = change(trainer, "learning_rate", 0.02);
  EXPECT_TRUE(trainer.snapshot()->changes->empty());
  take_steps(trainer, 6);
  EXPECT_FALSE(carry_out(trainer, TakeBack{changed}));
  EXPECT_TRUE(tests::holds(trainer.snapshot()->notice, {"no moments are kept", "--moments"}));
  EXPECT_EQ(trainer.snapshot()->step, 6u);
}

TEST(TakeBack, AClassifierIsEvaluatedForWhoLooksAtThatStepAndNothingIsRecorded) {
  Trainer trainer(paused_classifier_options());
  FeedLog feed(trainer.subscribe());
  take_steps(trainer, 7);
  trainer.send(RewindTo{5});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return now.step == 5 && now.evaluation && now.evaluation->step == 5;
  }));
  EXPECT_TRUE(std::ranges::none_of(
      feed.all<Point>(), [](const Point& point) { return point.step == 5 && point.split != Split::train; }));
}

TEST(TrainingTree, ABranchTellsWhatWasChangedWhereItLeaves) {
  TrainingTree tree;
  tree.note(0, 1204, "learning rate: 0.01 -> 0.1", 3);
  tree.begin_before(1, 0, 1204, 3);
  EXPECT_EQ(tree.fork(0, 1)->step, 1204u);
  EXPECT_EQ(tree.fork(0, 1)->changed, "learning rate: 0.01 -> 0.1");
  EXPECT_EQ(tree.fork(1, 0)->changed, "") << "nothing was changed in it yet";
  tree.note(1, 1204, "batch: 64 -> 32", 4);
  tree.note(1, 1204, "crop: off -> 4", 5);
  tree.note(1, 1300, "clip norm: off -> 1", 6);
  EXPECT_EQ(tree.fork(1, 0)->changed, "batch: 64 -> 32; crop: off -> 4");
  EXPECT_EQ(tree.changed_by(1, 5), "crop: off -> 4");
  EXPECT_EQ(tree.changed_by(1, 3), "learning rate: 0.01 -> 0.1");
}

TEST(TrainingTree, WhatWasChangedBeforeInBothIsNotTold) {
  TrainingTree tree;
  tree.note(0, 10, "a", 1);
  tree.note(0, 10, "b", 2);
  tree.begin_before(1, 0, 10, 2);
  EXPECT_EQ(tree.fork(0, 1)->changed, "b");
  tree.note(1, 10, "c", 3);
  EXPECT_EQ(tree.fork(1, 0)->changed, "c");
  tree.begin_before(2, 1, 10, 3);
  tree.note(2, 10, "d", 4);
  EXPECT_EQ(tree.fork(2, 0)->changed, "d");
  EXPECT_EQ(tree.fork(0, 2)->changed, "b");
  EXPECT_EQ(tree.fork(1, 2)->changed, "c");
}

TEST(TrainingTree, BranchesOfBranchesMeetWhereTheirLinesPart) {
  TrainingTree tree;
  tree.begin(1, 0, 500);
  tree.note(1, 500, "a", 1);
  tree.begin(2, 1, 800);
  tree.note(2, 800, "b", 2);
  tree.begin(3, 2, 100);  // before the branches began
  EXPECT_EQ(tree.fork(2, 0)->step, 500u);
  EXPECT_EQ(tree.fork(2, 0)->changed, "a") << "at the root of the branch that it belongs to";
  EXPECT_EQ(tree.fork(2, 1)->step, 800u);
  EXPECT_EQ(tree.fork(2, 3)->step, 100u);
  EXPECT_EQ(tree.fork(3, 0)->step, 100u);
  tree.begin(4);
  EXPECT_FALSE(tree.fork(4, 0)) << "a reset shares nothing";
  tree.begin_behind(5, 0, 900);
  tree.note(5, 900, "network: mlp -> mlp-edited", 7);
  EXPECT_EQ(tree.fork(5, 0)->changed, "network: mlp -> mlp-edited");
}

}  // namespace
}  // namespace warpscope::training::take_back_test
