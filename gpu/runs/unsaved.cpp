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
#include "gpu/runs/run_reader.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;

/// The numbers of a folder's name, which say when it was made and as which of that second: 10 comes behind 9.
std::vector<std::string> numbers_of(const fs::path& folder) {
  std::vector<std::string> numbers;
  bool inside = false;
  for (const char c : folder.filename().string()) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !inside) numbers.emplace_back();
    if (digit && (c != '0' || !numbers.back().empty())) numbers.back() += c;
    inside = digit;
  }
  return numbers;
}

bool is_smaller(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool is_newer(const UnsavedTraining& a, const UnsavedTraining& b) {
  if (a.written != b.written) return a.written > b.written;
  if (a.nanoseconds != b.nanoseconds) return a.nanoseconds > b.nanoseconds;
  const std::vector<std::string> of_a = numbers_of(a.folder), of_b = numbers_of(b.folder);
  if (of_a == of_b) return a.folder > b.folder;
  return std::ranges::lexicographical_compare(of_b, of_a, is_smaller);
}

std::optional<UnsavedTraining> read(const fs::path& folder) {
  const auto checkpoints = training::list_checkpoints(folder);
  struct stat file {};
  if (checkpoints.empty() || ::stat((folder / "run.json").c_str(), &file) != 0) return std::nullopt;
  UnsavedTraining training{.folder = folder,
                           .model = {},
                           .step = checkpoints.front().step,
                           .written = file.st_mtim.tv_sec,
                           .nanoseconds = file.st_mtim.tv_nsec};
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
  training.gone_on = head.contains("resumed");
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
  std::ranges::sort(found, is_newer);
  return found;
}

void keep_newest_unsaved(const fs::path& folder, std::size_t most, const fs::path& newest) {
  std::vector<UnsavedTraining> all = unsaved_trainings(folder);
  std::erase_if(all, [](const UnsavedTraining& each) {
    return each.other_format || each.gone_on || is_being_written(each.folder);
  });
  std::stable_partition(all.begin(), all.end(),
                        [&](const UnsavedTraining& each) { return each.folder == newest; });
  for (std::size_t i = most; i < all.size(); ++i) {
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
