#include "gpu/training/worker/handing_over.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
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

/// The moments that lead back, all on the disk, for the process that goes on. It runs no kernels of users. `error`: as
/// Moments::hand_over().
HandedMoments hand_moments_over(TrainingContext& training, const Moment& last, std::string& error) try {
  Moments& kept = training.moments.kept();
  // Files of a process that is not the first go with it.
  if (training.around.handed_over && !kept.files_stay()) {
    kept.give_up();
    return {};
  }
  HandedMoments handed = kept.hand_over(
      last, [&] { return training.inbox.stopped(); }, error);
  bool any = false;
  const auto leave_out = [&any](plan::Selection& selection) {
    plan::Selection rest = without_kernels_of_users(selection);
    any = any || rest != selection;
    selection = std::move(rest);
  };
  for (NotedChange& change : handed.notes.changes) {
    leave_out(change.selection);
    change.command = 0;  // what it was in words stays here
  }
  for (Moment& moment : handed.kept) leave_out(moment.selection);
  for (Moment& moment : handed.kept) moment.other_kernels = moment.other_kernels || any;
  return handed;
} catch (const std::exception& failure) {
  training.moments.kept().give_up();
  error = core::sentence_of(failure);
  return {};
}

/// Beside what the process that goes on is told of itself: trainings that were left stay behind, and so do moments that
/// the disk did not take, whose `error` says why.
std::string told_as_lost(const Snapshot& view, const Moment& last, const HandedMoments& handed,
                         const std::string& error) {
  std::uint64_t first = last.step;
  for (const Moment& moment : handed.kept) first = std::min(first, moment.step);
  const bool left = !view.left->empty();
  if (view.moments->empty() || view.moments->front() >= first)
    return left ? "; the ways back to trainings that were left are gone" : "";
  return fmt::format("; the {} back to steps before {}{}{}", left ? "ways" : "way", files::grouped(first),
                     left ? " and to trainings that were left are gone" : " is gone",
                     error.empty() ? "" : fmt::format(" ({})", error));
}

HandOver described(const TrainingContext& training, const Moment& moment, const std::string& why,
                   const std::string& lost) {
  HandOver over;
  const std::vector<std::string> off = kernels_to_switch_off(training.view.selection);
  over.failed_at = training.engine->steps();
  over.step = moment.step;
  over.paused = training.view.state == TrainerState::paused;
  over.told = fmt::format("step {}: {}; the training goes on in a process of its own from step {}{}{}{}",
                          files::grouped(training.view.step), why, files::grouped(moment.step),
                          off.empty() ? "" : ", without ", fmt::join(off, ", "), lost);
  over.around = training.around;
  take_kernels(over, training);
  return over;
}

/// Nobody is offered what the next process does not have.
void forget_ways_back(Snapshot& view) {
  view.moments = std::make_shared<std::vector<std::uint64_t>>();
  view.left = std::make_shared<std::vector<LeftTraining>>();
  view.changes = std::make_shared<std::vector<ChangeMade>>();
  view.rewind.running = false;
  view.divergence.can_roll_back = false;
}

/// The curve goes back to the moment, as it does where a training is gone on with. Who looks on is told of it once the
/// state is written.
void write(HandOver& over, TrainingContext& training, const Moment& moment) {
  Snapshot& view = training.view;
  TrainingSettings settings = training.settings();
  settings.select = plan::selection_text(without_kernels_of_users(view.selection));
  settings.precision = view.selection.precision;
  training.publishing.send();
  const std::uint64_t from = view.generation++;
  static_cast<Progress&>(view) = moment.progress;
  training.publishing.emit(Return{view.generation, from, moment.step});
  training.publishing.send_to_recorder();
  const RunKeeper::Handed handed = training.keeper->hand_over(checkpoint_of(training, moment), [&] {
    training.publishing.mark(moment.step, over.told, over.told);
    training.publishing.notice(over.told);
    if (training.history) training.history->go_on(from, view.generation, moment.step);
    forget_ways_back(view);
    training.publishing.send();
  });
  over.folder = handed.folder;
  over.recorded = handed.recorded;
  over.recorded_own = handed.by_itself;
  settings.run_dir = handed.recorded ? handed.folder : "";
  over.settings = std::make_shared<const TrainingSettings>(std::move(settings));
  over.counted = counted_of(view);
}

/// The last state in host memory; nullptr where another process cannot go on from it.
const Moment* last_moment(const TrainingContext& training) {
  if (!training.around.goes_on_elsewhere || training.around.ranks) return nullptr;
  const Moment* const moment = training.moments.kept().newest();
  return moment != nullptr && moment->settings->model == training.settings().model ? moment : nullptr;
}

/// The window closes. No state is read from the device any more: the one in host memory is kept, if nothing else is.
void leave_finished(TrainingContext& training) {
  Snapshot& view = training.view;
  const Moment* const moment = last_moment(training);
  try {
    const bool worth_it = moment != nullptr && moment->progress.seconds >= training.around.unsaved_seconds;
    if (training.keeper->keeps_unsaved() && worth_it)
      training.keeper->keep_unsaved(checkpoint_of(training, *moment));
  } catch (const std::exception& error) {
    training.publishing.tell(fmt::format("the training could not be kept: {}", core::sentence_of(error)),
                             LogLevel::error);
  }
  if (training.keeper->records_by_itself() && view.kept_in.empty()) view.kept_in = view.run_dir;
  view.may_close = true;
}

/// True if it was carried out.
bool answer_finished(TrainingContext& training, const Command& command) {
  if (std::holds_alternative<Leave>(command)) {
    leave_finished(training);
    return true;
  }
  try {
    const auto parameters = training.publishing.ending().parameters;
    if (const auto* const save = std::get_if<Save>(&command); save != nullptr && parameters) {
      training.keeper->save_weights(save->file, *parameters);
      return true;
    }
  } catch (const core::Error& error) {
    training.publishing.tell(error.what());
    return false;
  }
  const bool looks =
      std::holds_alternative<Observe>(command) || std::holds_alternative<SetDisturbed>(command) ||
      std::holds_alternative<LookAside>(command) || std::holds_alternative<CopyWeights>(command);
  if (!looks) {
    training.publishing.tell(
        "the training has finished, and its device can do nothing more in this process: a new start of the "
        "program can go on with it");
  }
  return false;
}

}  // namespace

bool can_be_handed_over(const TrainingContext& training) {
  return !training.inbox.stopped() && last_moment(training) != nullptr;
}

std::optional<std::string> hand_over(TrainingContext& training, const core::DeviceLost& lost) {
  const Moment moment = *last_moment(training);
  training.aside.let_go();
  std::string not_taken;
  HandedMoments handed = hand_moments_over(training, moment, not_taken);
  HandOver over =
      described(training, moment, lost.what(), told_as_lost(training.view, moment, handed, not_taken));
  const Snapshot before = training.view;
  const FigureTally tally = training.publishing.tally();
  try {
    write(over, training, moment);
  } catch (const std::exception& error) {
    training.publishing.drop_unsent();
    training.view = before;
    training.publishing.tally() = tally;
    const bool told_anyway = !training.keeper->handed_over_in().empty();  // by Reporter::fail()
    return fmt::format(
        "step {}: {}; the training ends, since its state cannot be written for another process ({}){}",
        files::grouped(before.step), lost.what(), core::sentence_of(error),
        told_anyway ? "" : fmt::format("; {}", what_is_kept(before.run_dir, true)));
  }
  if (!handed.kept.empty()) over.moments = std::make_shared<const HandedMoments>(std::move(handed));
  training.view.state = TrainerState::preparing;
  training.publishing.publish(std::chrono::steady_clock::now());  // before who goes on knows
  for (std::uint64_t i = 0; i < training.stepping.single_steps(); ++i)
    over.waiting.push_back({StepOnce{}, 0});
  while (auto waiting = training.inbox.take()) over.waiting.push_back(std::move(*waiting));
  training.publishing.end_with(std::make_shared<const HandOver>(std::move(over)));
  training.publishing.publish(std::chrono::steady_clock::now());  // who waits for it wakes
  return std::nullopt;
}

void stay_finished(TrainingContext& training, const core::DeviceLost& lost) {
  training.publishing.tell(
      fmt::format("step {}: {}; the training had finished before and stays as it is; nothing more can be "
                  "done with it in this "
                  "process",
                  files::grouped(training.view.step), lost.what()));
  forget_ways_back(training.view);
  training.aside.let_go();
  do {
    while (const auto next = training.inbox.take())
      training.view.answers.note(next->number, answer_finished(training, next->command));
    training.publishing.publish(std::chrono::steady_clock::now());
  } while (training.inbox.wait(std::chrono::milliseconds(20)));
}

}  // namespace warpscope::training
