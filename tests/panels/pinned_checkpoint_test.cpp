// Which checkpoint a pinned step chooses in a view of a run.

#include "ui/panels/runs/pinned_checkpoint.h"

#include <optional>

#include <gtest/gtest.h>

namespace warpscope::ui::pinned_checkpoint_test {
namespace {

training::Snapshot viewed_run() {
  training::Snapshot snapshot;
  snapshot.revival.emplace();
  snapshot.revival->steps = {100, 1000, 2000};
  snapshot.revival->ready = true;
  snapshot.revival->step = 2000;
  return snapshot;
}

TEST(PinnedCheckpoint, IsAskedForOnceAndTheNewestOnceTheStepIsLetGo) {
  const auto snapshot = viewed_run();
  PinnedCheckpoint pin;
  EXPECT_FALSE(pin.follow(snapshot, std::nullopt));
  const auto look = pin.follow(snapshot, 1100);
  ASSERT_TRUE(look);
  EXPECT_EQ(look->step, 1000u);
  EXPECT_FALSE(pin.follow(snapshot, 1100));
  EXPECT_FALSE(pin.follow(snapshot, 900)) << "the same one is the nearest";
  const auto back = pin.follow(snapshot, std::nullopt);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 0u);
  EXPECT_FALSE(pin.follow(snapshot, std::nullopt));
}

TEST(PinnedCheckpoint, GivesWayToANearerOneOnly) {
  auto snapshot = viewed_run();
  PinnedCheckpoint pin;
  ASSERT_TRUE(pin.follow(snapshot, 1100));
  snapshot.revival->steps = {2000, 3000};
  EXPECT_FALSE(pin.follow(snapshot, 1100)) << "it is gone from the folder and still loaded";
  snapshot.revival->steps = {1090, 2000};
  const auto nearer = pin.follow(snapshot, 1100);
  ASSERT_TRUE(nearer);
  EXPECT_EQ(nearer->step, 1090u);
}

TEST(PinnedCheckpoint, OneOfAnEarlierNetworkIsLeftOutAndSaysWhy) {
  auto snapshot = viewed_run();
  snapshot.revival->refused = {{1000, "it is of an earlier network, mlp"}};
  PinnedCheckpoint pin;
  const auto look = pin.follow(snapshot, 1100);
  ASSERT_TRUE(look);
  EXPECT_EQ(look->step, 2000u);
  EXPECT_EQ(why_no_checkpoint_look(*snapshot.revival, 1000),
            "It cannot be looked at: it is of an earlier network, mlp.");
  EXPECT_EQ(why_no_checkpoint_look(*snapshot.revival, 2000), "");
}

TEST(PinnedCheckpoint, IsNoneOfATrainingOrOfARunWithoutCheckpoints) {
  auto snapshot = viewed_run();
  PinnedCheckpoint pin;
  snapshot.revival->steps.clear();
  EXPECT_FALSE(pin.follow(snapshot, 1100));
  snapshot.revival.reset();
  EXPECT_FALSE(pin.follow(snapshot, 1100));
}

TEST(PinnedCheckpoint, TheLineSaysWhichItIsAndToWhichStepItIsNearest) {
  training::Revival revival = *viewed_run().revival;
  EXPECT_EQ(checkpoint_line(revival, std::nullopt), "newest checkpoint, step 2,000");
  revival.chosen = 1000;
  EXPECT_EQ(checkpoint_line(revival, 1100), "checkpoint at step 2,000") << "the other is on its way";
  revival.step = 1000;
  EXPECT_EQ(checkpoint_line(revival, 1100), "checkpoint at step 1,000 (nearest to 1,100)");
  EXPECT_EQ(checkpoint_line(revival, 1000), "checkpoint at step 1,000");
  EXPECT_EQ(checkpoint_line(revival, std::nullopt), "checkpoint at step 1,000");
}

}  // namespace
}  // namespace warpscope::ui::pinned_checkpoint_test
