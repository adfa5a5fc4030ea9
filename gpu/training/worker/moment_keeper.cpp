#include "gpu/training/worker/moment_keeper.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/training/hand_over.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

/// Between two moments, at the least.
constexpr auto kMomentInterval = milliseconds(100);
/// Share of the time that copying them takes, at the most.
constexpr double kMomentShare = 0.003;
/// Changes that follow each other faster are one, as those of a slider that is dragged.
constexpr auto kChangeInterval = milliseconds(250);
/// Between two of those from which another process would go on. Those that are kept anyway count.
constexpr auto kNewestInterval = milliseconds(1000);

}  // namespace

void MomentKeeper::make_room() {
  moments_ = Moments(static_cast<std::size_t>(training_.settings().moments_mib) << 20);
  const std::size_t on_disk = static_cast<std::size_t>(training_.settings().moments_disk_mib) << 20;
  if (!moments_.wanted() || on_disk == 0) return;
  moments_.use(std::make_unique<MomentFiles>(MomentFiles::Options{
      .budget = on_disk, .images = training_.data->train.count, .place = [this] { return place(); }}));
}

/// A run that somebody asked to record keeps them; one that is recorded by itself has them as long as it trains.
MomentFiles::Place MomentKeeper::place() const {
  constexpr const char* kFolder = "moments";
  const std::string& run = training_.settings().run_dir;
  if (run.empty() || training_.keeper->records_by_itself()) {
    return {.folder = files::cache_dir() / kFolder, .shared = true};  // where the next process clears up
  }
  return {.folder = std::filesystem::path(run) / kFolder, .stays = true};
}

void MomentKeeper::begin() {
  training_.variant_history.note(training_.view.generation, training_.engine->steps(),
                                 training_.view.variants);
  const auto& over = training_.around.handed_over;
  if (over && over->moments && moments_.has_files()) {
    take_on(*over->moments);
  } else {
    moments_.begin(training_.view.generation);
  }
  take(true);
}

/// The past of the process before, with which the training goes on in another generation.
void MomentKeeper::take_on(const HandedMoments& handed) {
  const std::uint64_t step = training_.engine->steps();
  first_weights_ = moments_.shared(training_.engine->network().first_weights());
  if (const std::string lost = moments_.take_on(handed, first_weights_); !lost.empty())
    training_.publishing.tell(lost);
  moments_.begin(training_.view.generation, handed.notes.pasts.back().generation, step);
  moments_.note_change(step, training_.view.settings, training_.view.selection, true);
}

/// It goes on from `target`, in another generation.
void MomentKeeper::begin(const LeftState& target, std::size_t changes) {
  const std::uint64_t step = target.engine.steps;
  training_.variant_history.branch(training_.view.generation, target.generation, step);
  training_.variant_history.note(training_.view.generation, step, training_.view.variants);
  const bool open = target.settings->precision == training_.view.selection.precision &&
                    !training_.steering.diverged() &&
                    moments_.leads_to(target.generation, step, changes, training_.steering.last_evaluation());
  moments_.begin(training_.view.generation, target.generation, step, open, changes);
  moments_.note_change(step, training_.view.settings, training_.view.selection, true);
  take(true);
  tell();
}

/// Whether another process may have to go on from the newest one. On a CPU only tests lose it.
bool MomentKeeper::guards() const {
  const bool one_process = !training_.around.ranks && !training_.views();
  if (!training_.around.goes_on_elsewhere || !one_process || no_memory_) return false;
  return training_.device->kind() == core::DeviceKind::cuda ||
         std::ranges::any_of(training_.view.selection.variants,
                             [](const auto& chosen) { return chosen.second.starts_with(ops::kUsers); });
}

/// Begins to copy the training as it is. Where one is on its way and this one `matters`, waits for that.
void MomentKeeper::take(bool matters, bool only_guards) {
  if (!moments_.wanted() && !guards()) return;
  if (matters && moments_.expects()) {
    training_.collector.drain();
    settle(true);
    if (no_memory_) return;
  }
  StateCopier& copier = training_.engine->copier();
  if (moments_.wanted() && copier.bytes() > moments_.budget()) {
    training_.publishing.log(
        LogLevel::info, fmt::format("no moments to go back to are kept: one takes {}, --moments allows {}",
                                    core::memory_text(static_cast<double>(copier.bytes())),
                                    core::memory_text(static_cast<double>(moments_.budget()))));
    moments_.give_up();
    if (!guards()) return;
  }
  if (moments_.expects() || copier.busy()) return;
  try {
    const bool kept = moments_.wanted() && !only_guards;
    if (kept &&
        (!first_weights_ || first_weights_->size() != training_.engine->network().first_weights().size())) {
      first_weights_ = moments_.shared(training_.engine->network().first_weights());
    }
    copier.begin();
  } catch (const core::OutOfMemory& error) {
    return do_without(error);
  } catch (const std::bad_alloc&) {
    return do_without(core::OutOfMemory("the host has too little memory"));
  }
  Moment moment;
  moment.step = training_.engine->steps();
  moment.matters = matters;
  moment.guards = guards();
  moment.only_guards = only_guards || !moments_.wanted();
  moment.head_classes = training_.engine->model().head_classes;
  moment.regroupings = training_.ranks.regroupings();
  moment.first_weights = first_weights_;
  moment.settings = training_.view.settings;
  moment.selection = training_.view.selection;
  moment.steering = training_.steering;
  moment.progress = training_.view;
  moment.progress.epoch = training_.engine->epoch();
  moments_.expect(std::move(moment));
  if (training_.view.step == training_.engine->steps()) {
    moments_.before_point(kNoLastStep, training_.steering, training_.view, training_.publishing.tally());
  }
  const auto wait = std::chrono::duration<double>(copier.seconds() / kMomentShare);
  next_moment_ = Clock::now() + std::max<Clock::duration>(kMomentInterval,
                                                          std::chrono::duration_cast<Clock::duration>(wait));
  next_newest_ = Clock::now() + kNewestInterval;
  settle();
}

void MomentKeeper::do_without(const core::Error& error) {
  no_memory_ = true;
  moments_.give_up();
  training_.publishing.tell(fmt::format("there will be no moments to go back to: {}", error.what()));
}

void MomentKeeper::take_if_due() {
  if (const std::string why = moments_.settle_files(); !why.empty()) {
    training_.publishing.tell(fmt::format("moments of the training stay in memory only: {}", why));
  }
  tell();
  if (!moments_.wanted() && !guards()) return;
  if (training_.engine->copier().busy()) settle();
  const bool trains =
      training_.view.state == TrainerState::running || training_.view.state == TrainerState::paused;
  if (!trains || training_.steering.diverged() || training_.stepping.searches_rate() ||
      training_.rewinder.running() || moments_.expects())
    return;
  const auto now = Clock::now();
  if (now < next_moment_) return;
  const std::uint64_t steps = training_.engine->steps();
  const Moment* const newest = moments_.newest();
  const bool due = moments_.wanted() && moments_.due(steps, training_.engine->copier().bytes());
  const bool is_old = now >= next_newest_ && (newest == nullptr || newest->step < steps);
  if (due || (is_old && guards())) take(false, !due);
}

void MomentKeeper::take_last() {
  if (!guards()) return;
  const Moment* const newest = moments_.newest();
  if (newest != nullptr && newest->step == training_.engine->steps()) return;
  take(true, true);
  settle(true);
}

void MomentKeeper::settle_all() {
  if (!moments_.expects()) return;
  moments_.before_point(kNoLastStep, training_.steering, training_.view, training_.publishing.tally());
  settle();
}

void MomentKeeper::settle(bool waits) {
  try {
    if (auto state = training_.engine->copier().take(waits)) moments_.arrive(std::move(*state));
  } catch (const core::OutOfMemory& error) {
    do_without(error);
  }
}

void MomentKeeper::tell() {
  if (auto list = moments_.take_list()) training_.view.moments = std::move(list);
  if (auto list = moments_.take_changes()) training_.view.changes = std::move(list);
}

void MomentKeeper::keep_before_change() {
  const auto now = Clock::now();
  const bool dragged = now - std::exchange(last_change_, now) < kChangeInterval;
  if (!moments_.wanted() || (dragged && training_.view.state == TrainerState::running)) return;
  if (moments_.expects()) return moments_.matters();
  if (!moments_.keep_longer(training_.engine->steps())) take(true);
}

void MomentKeeper::break_off() {
  moments_.break_off(training_.engine->steps());
  take(true);
}

void MomentKeeper::note_change(const std::string& what) {
  moments_.note_change(training_.engine->steps(), training_.view.settings, training_.view.selection, false,
                       training_.command);
  training_.trainings.tree().note(training_.view.training, training_.engine->steps(), what,
                                  training_.command);
  tell();
}

}  // namespace warpscope::training
