#include "gpu/training/worker/handing_over.h"

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/training/engine_checkpoint.h"
#include "gpu/training/hand_over.h"
#include "gpu/training/kernel_version.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

/// Kernels of users that ran when the device failed: any of them may have done it.
std::vector<std::string> kernels_to_switch_off(const plan::Selection& selection) {
  std::vector<std::string> names;
  for (const auto& [op, variant] : selection.variants) {
    if (variant.starts_with(ops::kUsers)) names.push_back(variant);
  }
  return names;
}

plan::Selection without_kernels_of_users(plan::Selection selection) {
  std::erase_if(selection.variants,
                [](const auto& chosen) { return chosen.second.starts_with(ops::kUsers); });
  return selection;
}

Checkpoint checkpoint_of(const TrainingContext& training, const Moment& moment) {
  Checkpoint checkpoint = checkpoint_without_state(training.settings(), moment.steering, moment.progress);
  checkpoint.generation = training.view.generation;
  checkpoint.head_classes = moment.head_classes;
  checkpoint.order.images = training.data->train.count;
  take_state(checkpoint, *training.moments.kept().state_of(moment));
  return checkpoint;
}

Counted counted_of(const Snapshot& view) {
  return {.started = view.started,
          .generation = view.generation,
          .training = view.training,
          .trainings = view.trainings,
          .notice_id = view.notice_id,
          .network_number = view.network_number,
          .divergence_id = view.divergence.id,
          .answers = view.answers};
}

/// What is loaded stays loaded; none runs before somebody asks for it again.
void take_kernels(HandOver& over, const TrainingContext& training) {
  for (const auto& folder : training.around.live_kernels.includes) over.includes.push_back(folder.string());
  for (const UserKernel& each : training.view.user_kernels->kernels) {
    if (each.folder.empty()) over.files.push_back({each.file, false});
  }
  over.forgotten = training.view.user_kernels->forgotten;
  for (const KernelFolder& each : training.view.user_kernels->folders)
    over.folders.push_back({each.path, false});
}

/// The curve goes back to the moment, as it does where a training is gone on with.
void go_back_to(TrainingContext& training, const Moment& moment, const std::string& told) {
  Snapshot& view = training.view;
  const std::uint64_t from = view.generation++;
  static_cast<Progress&>(view) = moment.progress;
  training.publishing.emit(Return{view.generation, from, moment.step});
  if (training.history) training.history->go_on(from, view.generation, moment.step);
  training.publishing.mark(moment.step, told, told);
  training.publishing.notice(told);
}

HandOver written(TrainingContext& training, const Moment& moment, const std::string& why) {
  HandOver over;
  const std::vector<std::string> off = kernels_to_switch_off(training.view.selection);
  over.failed_at = training.engine->steps();
  over.step = moment.step;
  over.paused = training.view.state == TrainerState::paused;
  over.told = fmt::format("step {}: {}; the training goes on in a process of its own from step {}{}{}",
                          files::grouped(training.view.step), why, files::grouped(moment.step),
                          off.empty() ? "" : ", without ", fmt::join(off, ", "));
  TrainingSettings settings = training.settings();
  settings.select = plan::selection_text(without_kernels_of_users(training.view.selection));
  settings.precision = training.view.selection.precision;
  over.around = training.around;
  take_kernels(over, training);
  go_back_to(training, moment, over.told);
  training.publishing.send();
  const RunKeeper::Handed handed = training.keeper->hand_over(checkpoint_of(training, moment));
  over.folder = handed.folder;
  over.recorded = handed.recorded;
  over.recorded_own = handed.by_itself;
  settings.run_dir = handed.recorded ? handed.folder : "";
  over.settings = std::make_shared<const TrainingSettings>(std::move(settings));
  over.counted = counted_of(training.view);
  while (auto waiting = training.inbox.take()) over.waiting.push_back(std::move(*waiting));
  return over;
}

}  // namespace

bool hand_over(TrainingContext& training, const core::DeviceLost& lost) {
  if (!training.around.goes_on_elsewhere || training.around.ranks || training.inbox.stopped()) return false;
  const Moment* const moment = training.moments.kept().newest();
  if (moment == nullptr || moment->settings->model != training.settings().model) return false;
  std::shared_ptr<const HandOver> over;
  try {
    over = std::make_shared<const HandOver>(written(training, *moment, lost.what()));
  } catch (const std::exception& error) {
    training.publishing.log(
        LogLevel::error,
        fmt::format("the training cannot go on in a process of its own: {}", core::sentence_of(error)));
    return false;
  }
  training.moments.kept().give_up();  // nobody goes back here any more
  training.view.state = TrainerState::preparing;
  training.publishing.publish(std::chrono::steady_clock::now());  // before who goes on knows
  training.publishing.end_with(std::move(over));
  training.publishing.publish(std::chrono::steady_clock::now());  // who waits for it wakes
  return true;
}

}  // namespace warpscope::training
