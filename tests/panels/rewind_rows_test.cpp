// What a step that was not kept, and the branches of a training, say of themselves.

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/changes.h"
#include "ui/panels/curves/rewind_menu.h"
#include "ui/panels/runs/run_rows.h"

namespace warpscope::ui::rewind_rows_test {
namespace {

training::Snapshot at_step_1000() {
  training::Snapshot snapshot;
  snapshot.step = 1000;
  snapshot.moments = std::make_shared<std::vector<std::uint64_t>>(std::vector<std::uint64_t>{0, 600, 900});
  snapshot.images_per_second = 6400;
  tests::settings_of(snapshot).batch = 64;
  return snapshot;
}

TEST(RewindRows, TheOfferSaysThatTheTrainingIsRewoundAndHowLongThatTakes) {
  training::Snapshot snapshot = at_step_1000();
  EXPECT_EQ(rewind_offer(snapshot, 668), "rewind the training (0.7 s)");
  EXPECT_EQ(rewind_offer(snapshot, 601), "rewind the training (0.1 s)");
  EXPECT_EQ(rewind_offer(snapshot, 600), "rewind the training") << "nothing is computed";
  snapshot.images_per_second = 128;
  EXPECT_EQ(rewind_offer(snapshot, 668), "rewind the training (34 s)");
  snapshot.images_per_second = 0;
  EXPECT_EQ(rewind_offer(snapshot, 668), "rewind the training") << "its speed is not known";
}

TEST(RewindRows, TheMenuNamesTheLookAndTheRewindApart) {
  const training::Snapshot snapshot = at_step_1000();
  EXPECT_EQ(look_title(1204), "Look at step 1,204");
  EXPECT_EQ(rewind_title(1204), "Rewind the training to step 1,204");
  EXPECT_EQ(rewind_note(snapshot, 668), "computed again from step 600");
  EXPECT_EQ(rewind_note(snapshot, 600), "kept");
}

TEST(RewindRows, AStepThatCannotBeReachedOffersNothing) {
  training::Snapshot snapshot = at_step_1000();
  EXPECT_EQ(rewind_offer(snapshot, 1000), "") << "the training is there";
  snapshot.moments = std::make_shared<std::vector<std::uint64_t>>();
  EXPECT_EQ(rewind_offer(snapshot, 668), "");
  snapshot = at_step_1000();
  snapshot.can.steer = false;
  EXPECT_EQ(rewind_offer(snapshot, 668), "");
}

TEST(RewindRows, OnTheWayItSaysHowFarItIs) {
  training::Snapshot snapshot = at_step_1000();
  snapshot.rewind = {true, 600, 668, 612};
  EXPECT_EQ(rewind_offer(snapshot, 668), "rewinding: step 612 of 668");
  EXPECT_EQ(rewind_progress(snapshot.rewind),
            "rewinding the training to step 668: step 612 is computed again");
}

TEST(RewindRows, AStepIsOfferedToBeComputedAsideUntilItIsThere) {
  training::Snapshot snapshot = at_step_1000();
  EXPECT_EQ(aside_title(1204), "Compute step 1,204 aside");
  EXPECT_EQ(aside_offer(snapshot, 668), "compute it aside (0.7 s)");
  EXPECT_EQ(aside_offer(snapshot, 600), "compute it aside") << "only views of it are computed";
  EXPECT_EQ(aside_offer(snapshot, 1000), "") << "the training is there";
  snapshot.aside = {.step = 668, .from = 600, .at = 612, .ready = false, .problem = ""};
  EXPECT_EQ(aside_offer(snapshot, 668), "computing: step 612 of 668");
  EXPECT_EQ(aside_offer(snapshot, 700), "compute it aside (1.0 s)") << "in the place of the other";
  snapshot.aside.problem = "step 668 cannot be computed aside: the device has too little memory";
  EXPECT_EQ(aside_offer(snapshot, 668), "compute it aside (0.7 s)") << "once more";
  snapshot.aside.problem.clear();
  snapshot.aside.ready = true;
  EXPECT_EQ(aside_offer(snapshot, 668), "");
  snapshot.aside = {};
  snapshot.ranks.resize(2);
  EXPECT_EQ(aside_offer(snapshot, 668), "compute it aside (0.7 s)") << "rank 0 computes it";
  auto settings = std::make_shared<training::TrainingSettings>();
  settings->model = models::find_model("classifier_bn");
  snapshot.settings = settings;
  EXPECT_EQ(aside_offer(snapshot, 668), "");
  EXPECT_EQ(why_no_aside(snapshot, 668),
            "Each rank draws or normalizes for its own part of a batch, which the one that would compute it "
            "cannot.");
  settings->sync_batch_norm = true;
  EXPECT_EQ(why_no_aside(snapshot, 668), "");
  settings->augment.flip = true;
  EXPECT_NE(why_no_aside(snapshot, 668), "") << "each draws its own";
  settings->deterministic = true;
  EXPECT_EQ(why_no_aside(snapshot, 668), "");
}

TEST(RewindRows, ABranchTellsItsRoot) {
  training::LeftTraining branch{
      .number = 0, .step = 5000, .from = 1204, .changed = "learning rate: 0.1 -> 0.01"};
  EXPECT_EQ(root_text(branch), "from step 1,204: learning rate: 0.1 -> 0.01");
  branch.changed.clear();
  EXPECT_EQ(root_text(branch), "from step 1,204");
  branch.from = 5000;
  EXPECT_EQ(root_text(branch), "where the present training goes on from");
  branch.from.reset();
  EXPECT_EQ(root_text(branch), "from first weights of its own");
}

TEST(RunRows, ANameIsToldWithoutTheTimeThatStandsBesideIt) {
  EXPECT_EQ(row_name("2026-11-29_13-38-23_mlp_digits"), "mlp_digits");
  EXPECT_EQ(row_name("2026-11-29_13-38-23_"), "2026-11-29_13-38-23_");
  EXPECT_EQ(row_name("2026-11-29_mlp_digits_of_a_friend"), "2026-11-29_mlp_digits_of_a_friend");
  EXPECT_EQ(row_name("1"), "1");
}

}  // namespace
}  // namespace warpscope::ui::rewind_rows_test
