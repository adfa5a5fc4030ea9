#include "gpu/runs/unsaved.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include <sys/stat.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_folder.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;

std::optional<UnsavedTraining> read(const fs::path& folder) {
  const auto checkpoints = training::list_checkpoints(folder);
  struct stat file {};
  if (checkpoints.empty() || ::stat((folder / "run.json").c_str(), &file) != 0) return std::nullopt;
  UnsavedTraining training{
      .folder = folder, .model = {}, .step = checkpoints.front().step, .written = file.st_mtime};
  nlohmann::json head;
  try {
    head = read_head(folder);
  } catch (const core::BadInput&) {
    training.other_format = true;
    return training;
  }
  if (head.empty()) return std::nullopt;
  const char* const last = head.contains("current") ? "current" : "configuration";
  const nlohmann::json settings = head.value(last, nlohmann::json::object());
  const auto model = settings.find("model");
  const bool named = model != settings.end() && model->is_string();
  training.model = named ? files::escaped(model->get<std::string>()) : "network";
  return training;
}

}  // namespace

fs::path unsaved_folder() {
  return files::data_dir() / "unsaved";
}

std::vector<UnsavedTraining> unsaved_trainings(const fs::path& folder) {
  std::vector<UnsavedTraining> found;
  std::error_code error;
  for (const fs::directory_entry& entry : files::entries_of(folder, error)) {
    if (auto training = read(entry.path())) found.push_back(std::move(*training));
  }
  // Names tell the order of those of one second.
  std::sort(found.begin(), found.end(), [](const UnsavedTraining& a, const UnsavedTraining& b) {
    return a.written != b.written ? a.written > b.written : a.folder > b.folder;
  });
  return found;
}

void keep_newest_unsaved(const fs::path& folder, std::size_t most) {
  const std::vector<UnsavedTraining> all = unsaved_trainings(folder);
  for (std::size_t i = most; i < all.size(); ++i) {
    if (all[i].other_format) continue;
    try {
      const auto unused = training::RunFolder::reopen(all[i].folder);  // takes its lock
      std::error_code ignored;
      fs::remove_all(all[i].folder, ignored);
    } catch (const core::Error&) {
      continue;
    }
  }
}

}  // namespace warpscope::runs
