#include "gpu/runs/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/atomic_file.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr const char* kBestFile = "best.safetensors";

std::string file_name(std::uint64_t step) {
  return fmt::format("{}{:09}{}", kStepPrefix, step, kSuffix);
}

/// The step in a file's name; none if it is not the name of a checkpoint.
std::optional<std::uint64_t> step_of(const std::string& name) {
  if (!name.starts_with(kStepPrefix) || !name.ends_with(kSuffix)) return {};
  std::uint64_t step = 0;
  std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
  return file_name(step) == name ? std::optional(step) : std::nullopt;
}

/// Loads the file into `newest`, or notes why not.
bool take(const fs::path& path, const models::Model& model, NewestCheckpoint& newest) {
  try {
    newest.checkpoint = load_checkpoint(path, model);
    newest.path = path;
    return true;
  } catch (const core::BadInput& error) {
    newest.skipped.emplace_back(error.what());
    return false;
  }
}

}  // namespace

fs::path checkpoint_folder(const fs::path& run) {
  return run / "checkpoints";
}

std::vector<CheckpointFile> list_checkpoints(const fs::path& run) {
  std::vector<CheckpointFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(checkpoint_folder(run), error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto step = step_of(entry->path().filename().string())) files.push_back({*step, entry->path()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return files;
}

NewestCheckpoint newest_valid(const fs::path& run, const models::Model& model) {
  NewestCheckpoint newest;
  for (const CheckpointFile& file : list_checkpoints(run)) {
    if (take(file.path, model, newest)) return newest;
  }
  const fs::path best = checkpoint_folder(run) / kBestFile;
  std::error_code ignored;
  if (fs::exists(best, ignored)) take(best, model, newest);
  return newest;
}

CheckpointStore::CheckpointStore(const fs::path& run, models::Model model, int keep)
    : run_(run),
      folder_(checkpoint_folder(run)),
      model_(std::move(model)),
      keep_(static_cast<std::size_t>(keep)) {
  if (keep < 1) {
    throw core::BadInput(fmt::format("cannot keep {} checkpoints; the least is 1", keep));
  }
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error || !fs::is_directory(folder_, error)) {
    throw core::BadInput(fmt::format("cannot make the folder {}: {}; choose another run folder",
                                     folder_.string(), error ? error.message() : "a file has its name"));
  }
  files::remove_leftovers(folder_);
}

NewestCheckpoint CheckpointStore::newest_valid() {
  NewestCheckpoint newest = training::newest_valid(run_, model_);
  if (newest.checkpoint) generation_ = newest.checkpoint->generation;
  return newest;
}

void CheckpointStore::save(const Checkpoint& checkpoint, bool is_best) {
  const fs::path path = folder_ / file_name(checkpoint.step);
  if (is_best) {
    // First, so that no checkpoint ever knows of a best one that was not kept.
    const fs::path best = folder_ / kBestFile;
    save_checkpoint(best, checkpoint, model_);
    try {
      files::link_file_atomically(best, path);
    } catch (const core::Error&) {
      save_checkpoint(path, checkpoint, model_);
    }
  } else {
    save_checkpoint(path, checkpoint, model_);
  }
  const bool other_generation =
      std::exchange(generation_, checkpoint.generation).value_or(checkpoint.generation) !=
      checkpoint.generation;
  prune(checkpoint.step, other_generation);
}

void CheckpointStore::prune(std::uint64_t step, bool other_generation) const {
  std::size_t kept = 0;
  for (const CheckpointFile& file : list_checkpoints(run_)) {
    const bool left_behind = file.step > step || (other_generation && file.step != step);
    if (!left_behind && ++kept <= keep_) continue;
    // What cannot be deleted costs space alone, and the next save tries again.
    std::error_code ignored;
    fs::remove(file.path, ignored);
  }
}

CheckpointWriter::CheckpointWriter(CheckpointStore store, std::function<void()> before)
    : store_(std::move(store)),
      before_(std::move(before)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

void CheckpointWriter::save(Checkpoint checkpoint, bool is_best) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const Waiting& before) { return is_best || !before.is_best; });
    waiting_.push_back({std::move(checkpoint), is_best});
  }
  changed_.notify_all();
}

void CheckpointWriter::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    const Waiting next = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    writing_ = true;
    lock.unlock();
    write(next);
    lock.lock();
    writing_ = false;
    changed_.notify_all();
  }
}

void CheckpointWriter::write(const Waiting& next) {
  std::string error;
  try {
    if (before_) before_();
    store_.save(next.checkpoint, next.is_best);
  } catch (const std::exception& failure) {
    error = core::sentence_of(failure);
  }
  const std::lock_guard lock(mutex_);
  if (error.empty()) saved_step_ = next.checkpoint.step;
  if (next.is_best) best_error_ = error;
  error_ = std::move(error);
}

void CheckpointWriter::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !writing_; });
}

void CheckpointWriter::follow(models::Model model) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !writing_; });
  store_.follow(std::move(model));  // the thread takes the next one with this mutex
}

std::string CheckpointWriter::error() const {
  const std::lock_guard lock(mutex_);
  return error_.empty() ? best_error_ : error_;
}

std::optional<std::uint64_t> CheckpointWriter::saved_step() const {
  const std::lock_guard lock(mutex_);
  return saved_step_;
}

}  // namespace warpscope::training
