#include "app/run_folders.h"

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/streams.h"
#include "gpu/runs/user_runs.h"

namespace warpscope::app {

namespace fs = std::filesystem;

fs::path find_run(const std::string& typed, const fs::path& folder) {
  if (runs::is_run(typed)) return typed;
  if (const fs::path named = folder / typed; runs::is_run(named)) return named;
  try {
    if (const fs::path named = runs::user_runs_folder() / typed; runs::is_run(named)) return named;
  } catch (const core::Error&) {
    // Without a folder of the user's there is none in it.
  }
  return typed;
}

std::vector<runs::Run> read_runs(const std::vector<std::string>& typed, const fs::path& folder) {
  std::vector<runs::Run> result;
  for (const std::string& one : typed) {
    result.push_back(runs::read_run(find_run(one, folder)));
    const runs::Run& run = result.back();
    print_notes(run.notes);
    if (run.damaged_lines > run.notes.size()) {
      files::warn(fmt::format("{} has {} damaged lines in all", run.folder.string(), run.damaged_lines));
    }
  }
  return result;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) files::warn(note);
}

}  // namespace warpscope::app
