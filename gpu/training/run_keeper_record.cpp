// A training that is recorded by itself, in a folder of the user's: when that begins and ends, and what becomes of it
// where the folder cannot be written.

#include <ctime>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/runs/user_runs.h"
#include "gpu/training/run_keeper.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;

/// Resets up to the present generation, whose points follow: a return counts them.
std::vector<FeedItem> told_so_far(std::uint64_t generation, const ThinnedPoints& points) {
  std::vector<FeedItem> items;
  for (std::uint64_t i = 1; i <= generation; ++i) {
    Restart restart;
    restart.generation = i;
    items.emplace_back(restart);
  }
  for (FeedItem& item : points.items()) items.push_back(std::move(item));
  return items;
}

}  // namespace

bool RunKeeper::keeps_unsaved() const {
  const bool keeps = publishing_.kept_points() != nullptr && !around_.unsaved_dir.empty();
  return keeps && (!recorder_ || lacks_last_checkpoint());
}

/// The disk took the curve to its end and not the state.
bool RunKeeper::lacks_last_checkpoint() const {
  return checkpoints_ && !told_error_.empty() && checkpoints_->saved_step() != engine_.steps();
}

void RunKeeper::keep_points(nlohmann::json begun) {
  publishing_.keep_points();
  begun_ = std::move(begun);
}

void RunKeeper::set_folder(const std::string& folder) {
  publishing_.view.run_dir = folder;
  publishing_.edit_settings([&](TrainingSettings& s) { s.run_dir = folder; });
}

/// In a new folder. `begun` is what its run.json says of the beginning, if that is not now.
void RunKeeper::record_by_itself(std::shared_ptr<Feed> feed, const nlohmann::json& begun) {
  const std::string name = runs::name_of_user_run(settings().model.name, data_->name, std::time(nullptr));
  own_folder_ = runs::make_user_run(around_.record_dir, name);
  try {
    nlohmann::json described = head(own_folder_);
    if (!begun.empty()) {
      described["current"] = described["configuration"];
      described.update(begun);
    }
    recorder_ =
        std::make_unique<RunRecorder>(RunFolder::create(own_folder_), std::move(feed), std::move(described));
    set_folder(own_folder_.string());
    open_checkpoints();
    record_views();
  } catch (...) {
    const fs::path folder = own_folder_;
    let_go();
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    throw;
  }
}

void RunKeeper::record(bool on, const Steering& steering) {
  if (on == (recorder_ != nullptr)) {
    throw core::BadInput(on ? fmt::format("the training is recorded already, in {}", settings().run_dir)
                            : std::string("the training is not recorded"));
  }
  on ? start_recording(steering) : stop_recording(steering);
}

void RunKeeper::start_recording(const Steering& steering) {
  if (around_.record_dir.empty() || publishing_.kept_points() == nullptr) {
    throw core::BadInput("there is no folder of the user's to record the training in");
  }
  std::shared_ptr<Feed> feed = publishing_.subscribe_recorder();
  feed->take();  // the points that are kept tell it all
  feed->push(told_so_far(publishing_.view.generation, *publishing_.kept_points()));
  record_by_itself(std::move(feed), begun_);
  gave_up_ = false;
  if (engine_.steps() > 0 && !steering.diverged()) write_checkpoint(steering, false);
  publishing_.log(LogLevel::info, fmt::format("the training is recorded in {}", settings().run_dir));
}

void RunKeeper::stop_recording(const Steering& steering) {
  const std::string folder = settings().run_dir;
  if (engine_.steps() > 0 && !steering.diverged() && !is_written(engine_.steps())) {
    write_checkpoint(steering, false);
  }
  flush();
  finish();
  let_go();
  if (gave_up_) return;
  publishing_.log(LogLevel::info, fmt::format("recording has stopped; {} holds what came before", folder));
}

/// Once: nothing is recorded from now on, and the training goes on.
void RunKeeper::give_up(const std::string& why) {
  gave_up_ = true;
  publishing_.tell(fmt::format("the training goes on without being recorded: {}", why));
  let_go();
}

/// Recording has ended. A training without any step leaves no folder.
void RunKeeper::let_go() {
  {
    const std::lock_guard lock(wanting_);
    wanted_.reset();
  }
  const bool recorded = recorder_ != nullptr;
  checkpoints_.reset();  // its thread writes the recorder's points
  recorder_.reset();
  told_error_.clear();
  begin_training();
  const Snapshot& view = publishing_.view;
  if (const fs::path own = std::exchange(own_folder_, {});
      !own.empty() && view.step == 0 && view.generation == 0) {
    std::error_code ignored;
    fs::remove_all(own, ignored);
  }
  if (!recorded) return;
  publishing_.view.checkpoint_step = 0;
  set_folder("");
}

}  // namespace warpscope::training
