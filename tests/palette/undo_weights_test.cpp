// Undo of what shapes the weights: the training goes back with them.

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/undo_snapshots.h"
#include "ui/settings/undo.h"

namespace warpscope::ui::undo_weights_test {
namespace {

using tests::answered;
using tests::at_batch;
using tests::begin_training;
using tests::return_to;
using training::Snapshot;

/// A batch that was changed at step 10 by command 1, 90 steps ago.
Snapshot after_a_change() {
  Snapshot snapshot = at_batch(8);
  snapshot.changes = std::make_shared<std::vector<training::ChangeMade>>(1, training::ChangeMade{1, 10});
  snapshot.step = 100;
  return answered(snapshot, 1);
}

TEST(UndoOfWeights, ASettingGoesBackWithTheWeightsWhereStepsWereMadeSince) {
  Undo undo;
  undo.sent(tests::change("batch", 8), at_batch(4));
  Snapshot snapshot = after_a_change();
  undo.settle(snapshot);
  EXPECT_TRUE(undo.takes_weights_back(snapshot));
  EXPECT_EQ(std::get<training::TakeBack>(*undo.command_to_undo(snapshot)).command, 1u);
  EXPECT_TRUE(std::holds_alternative<training::Change>(*undo.command_to_undo(snapshot, true)));
  snapshot.step = 10;
  EXPECT_TRUE(std::holds_alternative<training::Change>(*undo.command_to_undo(snapshot)))
      << "nothing came after it";
  snapshot = after_a_change();
  snapshot.changes = std::make_shared<std::vector<training::ChangeMade>>();
  EXPECT_FALSE(undo.takes_weights_back(snapshot)) << "no moment is kept";
}

TEST(UndoOfWeights, WhatShapesNoWeightsIsOnlySetBack) {
  Undo undo;
  undo.sent(tests::change("epochs", 8), at_batch(4));
  const Snapshot snapshot = after_a_change();
  undo.settle(snapshot);
  EXPECT_TRUE(std::holds_alternative<training::Change>(*undo.command_to_undo(snapshot)));
}

TEST(UndoOfWeights, RedoReturnsToWhereTheTrainingWasAndUndoToWhereItHadGone) {
  Undo undo;
  undo.sent(tests::change("batch", 8), at_batch(4));
  Snapshot snapshot = after_a_change();
  undo.settle(snapshot);
  const training::Command back = *undo.command_to_undo(snapshot);
  ASSERT_TRUE(undo.undo());
  EXPECT_EQ(undo.sent(back, snapshot, true), 2u);
  EXPECT_TRUE(undo.on_the_way());
  snapshot.rewind.running = true;
  undo.settle(answered(snapshot, 2));
  EXPECT_TRUE(undo.on_the_way()) << "steps are made again";
  snapshot.rewind.running = false;
  begin_training(snapshot, 100);
  snapshot.changes = std::make_shared<std::vector<training::ChangeMade>>();
  undo.settle(answered(snapshot, 2));
  EXPECT_FALSE(undo.on_the_way());
  EXPECT_EQ(undo.take_return(), Undo::Return::there);
  EXPECT_FALSE(undo.take_return());
  const training::Command again = *undo.command_to_redo(snapshot);
  EXPECT_EQ(std::get<training::ReturnTo>(again).training, 0u);
  ASSERT_TRUE(undo.redo());
  undo.sent(again, snapshot, true);
  return_to(snapshot, 0, 25);
  undo.settle(answered(snapshot, 3));
  EXPECT_EQ(describe(*undo.undoable()), "batch: 4 -> 8");
  EXPECT_EQ(std::get<training::ReturnTo>(*undo.command_to_undo(snapshot)).training, 1u);
  snapshot.left = std::make_shared<std::vector<training::LeftTraining>>();
  EXPECT_TRUE(std::holds_alternative<training::Change>(*undo.command_to_undo(snapshot)))
      << "where neither is kept, the setting";
}

TEST(UndoOfWeights, AWayBackThatIsRefusedOrStoppedCanBeUndoneAgain) {
  for (const bool refused : {true, false}) {
    Undo undo;
    undo.sent(tests::change("batch", 8), at_batch(4));
    const Snapshot snapshot = after_a_change();
    undo.settle(snapshot);
    const training::Command back = *undo.command_to_undo(snapshot);
    undo.undo();
    undo.sent(back, snapshot, true);
    undo.settle(
        answered(snapshot, 2, refused ? std::vector<std::uint64_t>{2} : std::vector<std::uint64_t>{}));
    EXPECT_EQ(undo.take_return(), refused ? Undo::Return::refused : Undo::Return::stopped);
    ASSERT_NE(undo.undoable(), nullptr);
    EXPECT_EQ(undo.redoable(), nullptr);
    EXPECT_EQ(std::holds_alternative<training::TakeBack>(*undo.command_to_undo(snapshot)), !refused)
        << "what was refused is not tried once more";
  }
}

TEST(UndoOfWeights, AResetBehindAnUndoWithTheWeightsIsRedoneToThere) {
  Undo undo;
  Snapshot snapshot = at_batch(4);
  undo.sent(training::Reset{}, snapshot);
  begin_training(snapshot, 50);
  undo.settle(answered(snapshot, 1));
  undo.sent(tests::change("batch", 8), snapshot);
  tests::settings_of(snapshot).batch = 8;
  snapshot.changes = std::make_shared<std::vector<training::ChangeMade>>(1, training::ChangeMade{2, 10});
  snapshot.step = 30;
  undo.settle(answered(snapshot, 2));
  const training::Command back = *undo.command_to_undo(snapshot);
  undo.undo();
  undo.sent(back, snapshot, true);
  begin_training(snapshot, 30);
  undo.settle(answered(snapshot, 3));
  ASSERT_EQ(undo.take_return(), Undo::Return::there);
  ASSERT_NE(undo.undoable(), nullptr) << "the reset";
  const auto reset = undo.undo();
  undo.sent(*command_of(reset->after), snapshot, true);
  return_to(snapshot, 0, 10);
  undo.settle(answered(snapshot, 4));
  EXPECT_EQ(std::get<training::ReturnTo>(*undo.command_to_redo(snapshot)).training, 2u);
}

}  // namespace
}  // namespace warpscope::ui::undo_weights_test
