#include "gpu/training/worker/course.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

/// An evaluation comes after so many times its images were trained on.
constexpr std::int64_t kTestSteps = 5;
/// Between two evaluations, unless test_every says how many: the step right after one has no time of its own, so few
/// steps would make no speed.
constexpr std::int64_t kLeastStepsBetween = 20;

}  // namespace

double rate_of_next_step(const TrainingContext& training) {
  return training.steering.rate(training.settings(), training.engine->epoch(), training.view.total_epochs);
}

std::string told_as_ended(const TrainingContext& training) {
  if (!training.steering.stop_reason().empty()) {
    return fmt::format("the run is at its end already, since {}: change that limit to go on",
                       training.steering.stop_reason());
  }
  const bool by_steps =
      training.settings().steps > 0 && training.settings().steps == training.view.steps_planned;
  return fmt::format("the run is at its end already, with {} of {}: ask for more {} to go on",
                     files::grouped(static_cast<std::int64_t>(training.view.step)),
                     files::counted(static_cast<std::int64_t>(training.view.steps_planned), "step"),
                     by_steps ? "steps" : "epochs");
}

void plan_steps(TrainingContext& training) {
  const std::uint64_t left = training.engine->steps_until(training.settings().epochs);
  training.view.steps_planned = training.settings().epochs > 0 ? training.engine->steps() + left : 0;
  if (training.settings().steps > 0 &&
      (training.view.steps_planned == 0 || training.settings().steps < training.view.steps_planned)) {
    training.view.steps_planned = training.settings().steps;
  }
  training.view.total_epochs = planned_epochs(training, training.settings());
}

double planned_epochs(const TrainingContext& training, const TrainingSettings& settings) {
  const auto epochs = static_cast<double>(settings.epochs);
  if (settings.steps == 0) return epochs;
  const std::int64_t images = std::int64_t{settings.batch} * settings.optimizer.accumulate;
  const std::int64_t steps_an_epoch = training.data->train.count / images;
  const double by_steps = static_cast<double>(settings.steps) / static_cast<double>(steps_an_epoch);
  return settings.epochs > 0 ? std::min(epochs, by_steps) : by_steps;
}

std::uint64_t next_evaluation(const TrainingContext& training) {
  const std::int64_t by_images = std::max(
      kLeastStepsBetween, kTestSteps * training.view.test_images / training.engine->images_of_step());
  const std::uint64_t steps = training.settings().test_every > 0 ? training.settings().test_every
                                                                 : static_cast<std::uint64_t>(by_images);
  const std::uint64_t next = training.steering.last_evaluation() + steps;
  return training.view.steps_planned > 0 ? std::min(next, training.view.steps_planned) : next;
}

Split steering_split(const TrainingContext& training) {
  return training.data->validation.count > 0 ? Split::validation : Split::test;
}

bool limit_reached(const TrainingContext& training) {
  return !training.steering.stop_reason().empty() ||
         (training.view.steps_planned > 0 && training.engine->steps() >= training.view.steps_planned);
}

}  // namespace warpscope::training
