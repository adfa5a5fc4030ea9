// Looks into the network, as a window asks for them.

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/training/trainer.h"
#include "tests/support/tiny_trainer.h"
#include "tests/support/waiting.h"

namespace warpscope::training::trainer_inspection_test {
namespace {

using tests::tiny_trainer_options;
using tests::wait_for_state;
using tests::wait_for_step;

/// Waits until the newest inspection fulfils `condition`; the one that did, or nullptr and a test failure.
template <class Condition>
std::shared_ptr<const Inspection> wait_for_inspection(const Trainer& trainer, Condition condition) {
  std::shared_ptr<const Inspection> found;
  const bool came = tests::eventually([&] {
    found = trainer.observations().inspection;
    return condition(found.get());
  });
  EXPECT_TRUE(came);
  return came ? found : nullptr;
}

Observe inspect(std::int64_t image) {
  Observe observe;
  observe.request.inspected_image = image;
  observe.request.inspected_parameters = 1;
  return observe;
}

auto of_image(std::int64_t image) {
  return [image](const Inspection* found) { return found != nullptr && found->image == image; };
}

TEST(TrainerInspection, ComesOnceAskedForAndFollowsTheTraining) {
  Trainer trainer(tiny_trainer_options());
  ASSERT_TRUE(wait_for_step(trainer, 1));
  EXPECT_EQ(trainer.observations().inspection, nullptr);
  trainer.send(inspect(3));
  const auto first = wait_for_inspection(trainer, of_image(3));
  ASSERT_NE(first, nullptr);
  const auto later =
      wait_for_inspection(trainer, [&](const Inspection* now) { return now->step > first->step; });
  ASSERT_NE(later, nullptr);
  EXPECT_GT(later->number, first->number);
  EXPECT_NE(later->parameters, first->parameters);
}

TEST(TrainerInspection, OfAPausedTrainingChangesWithTheImageAndTheSelectionAlone) {
  TrainerOptions options = tiny_trainer_options();
  options.start_paused = true;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(inspect(0));
  const auto first = wait_for_inspection(trainer, of_image(0));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->step, 0u);
  ASSERT_TRUE(tests::wait_for_an_idle_round(trainer));
  EXPECT_EQ(trainer.observations().inspection, first) << "nothing has changed";
  trainer.send(inspect(5));
  const auto other = wait_for_inspection(trainer, of_image(5));
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other->outputs[0].values, first->outputs[0].values);
  plan::Selection selection = trainer.snapshot()->selection;
  plan::apply(selection, "conv2d.forward=reference", trainer.snapshot()->device);
  trainer.send(Select{selection});
  EXPECT_NE(wait_for_inspection(trainer, [&](const Inspection* now) { return now->number > other->number; }),
            nullptr);
}

TEST(TrainerInspection, EndsWhenNobodyLooksAnyMore) {
  Trainer trainer(tiny_trainer_options());
  trainer.send(inspect(1));
  ASSERT_NE(wait_for_inspection(trainer, of_image(1)), nullptr);
  trainer.send(Observe{});
  EXPECT_TRUE(tests::eventually([&] { return trainer.observations().inspection == nullptr; }));
}

TEST(TrainerInspection, TellsWhichPartOfTheTimeItTakesAndNothingOnceItEnds) {
  Trainer trainer(tiny_trainer_options());
  trainer.send(inspect(1));
  EXPECT_TRUE(tests::eventually([&] { return trainer.observations().time_share > 0; }));
  EXPECT_LE(trainer.observations().time_share, 1);
  trainer.send(Observe{});
  EXPECT_TRUE(tests::eventually([&] { return trainer.observations().time_share == 0; }));
}

TEST(TrainerInspection, OfAnImageThatIsNotThereIsRefusedAndTheTrainingGoesOn) {
  Trainer trainer(tiny_trainer_options());
  ASSERT_TRUE(wait_for_step(trainer, 1));
  trainer.send(inspect(12));
  ASSERT_TRUE(tests::wait_for_notice(trainer, 1));
  EXPECT_NE(trainer.snapshot()->notice.find("no test image 12"), std::string::npos);
  EXPECT_TRUE(wait_for_step(trainer, trainer.snapshot()->step + 5));
  EXPECT_EQ(trainer.observations().inspection, nullptr);
}

TEST(TrainerInspection, OfAFinishedTrainingIsStillThere) {
  TrainerOptions options = tiny_trainer_options();
  options.steps = 4;
  Trainer trainer(options);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  trainer.send(inspect(2));
  const auto found = wait_for_inspection(trainer, of_image(2));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->step, 4u);
}

TEST(TrainerHistory, KeepsThePicturesOfEarlierStepsAndBeginsAnewWithAReset) {
  TrainerOptions options = tiny_trainer_options();
  options.shown_images = 3;
  options.image_seconds = 0;
  Trainer trainer(options);
  const auto history = trainer.history();
  ASSERT_NE(history, nullptr);
  ASSERT_TRUE(tests::eventually([&] { return history->steps().size() >= 8; }));
  const std::vector<std::uint64_t> steps = history->steps();
  EXPECT_EQ(history->at(steps.front())->shape.count, 3);
  EXPECT_NE(history->at(steps.front())->reconstruction, history->at(steps.back())->reconstruction);
  const std::uint64_t last = steps.back();
  trainer.send(Pause{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  trainer.send(Reset{});
  EXPECT_TRUE(tests::eventually([&] { return history->steps().back() < last; }));
  EXPECT_EQ(history->at(0)->generation, 1u);
}

TEST(TrainerHistory, IsNotThereWithoutPictures) {
  const Trainer trainer(tiny_trainer_options());
  EXPECT_EQ(trainer.history(), nullptr);
}

}  // namespace
}  // namespace warpscope::training::trainer_inspection_test
