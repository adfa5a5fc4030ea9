// What views show at earlier steps, in the run's folder: where that begins, and what a run that goes on has of it.

#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/runs/view_file.h"
#include "gpu/training/run_keeper.h"

namespace warpscope::training {

/// Nothing else of the run depends on it: what cannot be is told.
void RunKeeper::begin_views(const std::function<std::unique_ptr<runs::ViewFile>(std::size_t most)>& open) {
  const int mib = settings().keep_history_mib;
  try {
    auto file = open(std::size_t(mib) << 20);
    if (mib > 0) recorder_->views().begin(std::move(file));
  } catch (const core::Error& error) {
    publishing_.log(LogLevel::warning,
                    fmt::format("what views show at earlier steps is not recorded: {}", error.what()));
  }
}

void RunKeeper::record_views() {
  if (settings().keep_history_mib == 0) return;
  begin_views(
      [this](std::size_t most) { return std::make_unique<runs::ViewFile>(settings().run_dir, most); });
}

/// What came after the step goes, also where no more are recorded.
void RunKeeper::go_on_with_views() {
  begin_views([this](std::size_t most) {
    const Snapshot& view = publishing_.view;
    return std::make_unique<runs::ViewFile>(settings().run_dir, most, view.generation, view.step);
  });
}

/// Those of a run that goes on, up to its step.
void RunKeeper::tell_views() {
  const Snapshot& view = publishing_.view;
  runs::ViewReader reader(settings().run_dir);
  for (KeptView& kept : reader.take(view.generation, number_of(settings().model))) {
    if (step_of(kept.seen) <= view.step) publishing_.emit(std::move(kept));
  }
  publishing_.send();
  if (const std::string objection = reader.objection(true); !objection.empty())
    publishing_.log(LogLevel::warning, objection);
}

void RunKeeper::tell_views_again() {
  if (!recorder_ || settings().keep_history_mib == 0) return;
  const std::lock_guard lock(wanting_);
  wanted_ = Line{settings().run_dir, publishing_.view.generation, number_of(settings().model)};
}

/// On the thread that writes checkpoints, since it reads a whole file, and no step waits for it. Points that were
/// published are with the recorder by then, the way back among them.
void RunKeeper::tell_wanted_views() {
  std::optional<Line> line;
  {
    const std::lock_guard lock(wanting_);
    line.swap(wanted_);
  }
  if (!line) return;
  try {
    recorder_->views().write();
    runs::ViewReader reader(line->run);
    std::vector<FeedItem> views;
    for (KeptView& kept : reader.take(line->generation, line->network)) views.emplace_back(std::move(kept));
    publishing_.tell_again(views);
  } catch (const std::exception& error) {
    publishing_.log_at_once(
        LogLevel::warning,
        fmt::format("what views showed at earlier steps cannot be read: {}", core::sentence_of(error)));
  }
}

}  // namespace warpscope::training
