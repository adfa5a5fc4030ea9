#include "gpu/training/steering.h"

#include <limits>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "gpu/messages/bytes_of_messages.h"

namespace warpscope::training::steering_test {
namespace {

TrainingSettings watched_settings() {
  TrainingSettings settings;
  settings.spikes.guessing = 2.3;
  return settings;
}

/// The step at which the losses of a network that has learned and then forgets are found; 0 if they never are.
std::uint64_t found_at(Steering steering, const TrainingSettings& settings, std::uint64_t first) {
  for (std::uint64_t step = first; step < first + 40; ++step) {
    StepResult result;
    result.step = step;
    result.loss = 2.0f;
    if (steering.judge(settings, result, 0)) return step;
  }
  return 0;
}

TEST(Steering, WatchesAfterAPersonHasChangedOptimizerOrSchedule) {
  const TrainingSettings before = watched_settings();
  Steering steering;
  StepResult result;
  result.loss = 0.02f;
  for (result.step = 1; result.step <= 300; ++result.step) steering.judge(before, result, 0);
  EXPECT_EQ(found_at(steering, before, 301), 0u);
  const auto after = [&](auto edit) {
    TrainingSettings now = before;
    edit(now);
    Steering changed = steering;
    changed.follow(before, now);
    return found_at(changed, now, 301);
  };
  EXPECT_EQ(after([](TrainingSettings& s) { s.optimizer.learning_rate *= 2; }), 316u);
  EXPECT_EQ(after([](TrainingSettings& s) { s.schedule.warmup += 1; }), 316u);
  EXPECT_EQ(after([](TrainingSettings& s) { s.batch = 7; }), 0u);
}

TEST(Steering, TellsDivergenceOnceUntilItGoesOn) {
  const TrainingSettings settings = watched_settings();
  Steering steering;
  StepResult result;
  result.loss = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(steering.judge(settings, result, 0));
  EXPECT_FALSE(steering.judge(settings, result, 0)) << "it is known";
  EXPECT_FALSE(steering.loss_was_finite());
  EXPECT_TRUE(steering.take_pending());
  EXPECT_FALSE(steering.take_pending());
  EXPECT_TRUE(steering.diverged());
  steering.clear_divergence();
  EXPECT_TRUE(steering.judge(settings, result, 0));
}

TEST(Steering, ARunThatGoesOnEndsAtTheAccuracyThatItHad) {
  TrainingSettings settings;
  Steering first, resumed;
  Evaluation evaluation;
  evaluation.accuracy = 0.95;
  first.judge(settings, evaluation);
  resumed.read(first.written(), 0);
  settings.stop.target_accuracy = 0.9;
  resumed.judge_before(settings, 0, "test");
  EXPECT_EQ(resumed.stop_reason(), "the test accuracy 0.95 has reached its target of 0.9");
}

TEST(Steering, IsSentWithAllThatItRemembers) {
  TrainingSettings settings;
  settings.schedule.kind = ScheduleKind::plateau;
  Steering steering;
  EXPECT_TRUE(steering.epoch_ended(settings, 1));
  StepResult result;
  result.loss = std::numeric_limits<float>::quiet_NaN();
  steering.judge(settings, result, 0);
  auto sent = MessageReader().read<Steering>(MessageWriter().write(steering));
  EXPECT_TRUE(sent.needs_evaluation()) << "the schedule waits for that of the epoch";
  EXPECT_FALSE(sent.epoch_ended(settings, 1));
  EXPECT_TRUE(sent.diverged());
  EXPECT_TRUE(sent.pending());
  EXPECT_FALSE(sent.loss_was_finite());
  EXPECT_EQ(sent.written(), steering.written());
}

TEST(Steering, GoesOnFromJson) {
  TrainingSettings settings = watched_settings();
  settings.schedule.kind = ScheduleKind::plateau;
  Steering steering;
  StepResult result;
  for (int step = 1; step <= 30; ++step) {
    result.loss = 1.0f / static_cast<float>(step);
    steering.judge(settings, result, 0);
  }
  steering.note_evaluation(25);
  Steering back;
  back.read(nlohmann::json::parse(steering.written().dump()), 3);
  EXPECT_EQ(back.written(), steering.written());
  EXPECT_EQ(back.last_evaluation(), 25u);
  EXPECT_FALSE(back.epoch_ended(settings, 3));
  EXPECT_TRUE(back.epoch_ended(settings, 4));
}

}  // namespace
}  // namespace warpscope::training::steering_test
