// What views show at earlier steps, in the run's folder: where that begins, and what a run that goes on has of it.

#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
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

}  // namespace warpscope::training
