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
#include "gpu/files/file.h"

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

std::optional<CheckpointFile> nearest_checkpoint(const fs::path& run, std::uint64_t step) {
  const auto distance = [step](const CheckpointFile& file) {
    return file.step > step ? file.step - step : step - file.step;
  };
  const std::vector<CheckpointFile> files =
      list_checkpoints(run);  // newest first: the last of two is the earlier
  std::optional<CheckpointFile> nearest;
  for (const CheckpointFile& file : files) {
    if (!nearest || distance(file) <= distance(*nearest)) nearest = file;
  }
  return nearest;
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

NewestCheckpoint to_go_on_from(const fs::path& run, const models::Model& model) {
  NewestCheckpoint found = newest_valid(run, model);
  if (found.checkpoint) return found;
  throw core::BadInput(fmt::format("{} has no checkpoint to go on from{}", run.string(),
                                   found.skipped.empty() ? "" : ": " + found.skipped.front()));
}

Checkpoint to_look_at(const fs::path& run, std::uint64_t step, const models::Model& model) {
  const auto nearest = step > 0 ? nearest_checkpoint(run, step) : std::nullopt;
  if (nearest) return load_checkpoint(nearest->path, model);
  NewestCheckpoint found = newest_valid(run, model);
  if (found.checkpoint) return std::move(*found.checkpoint);
  throw core::BadInput(found.skipped.empty() ? std::string("the run has no checkpoint to look into")
                                             : found.skipped.front());
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
  std::error_code failure;                   // what is to be written then says it
  fs::create_directories(folder_, failure);  // that may have been taken away meanwhile
  const std::optional<std::uint64_t> before = generation_;
  const bool anew = before && *before != checkpoint.generation;
  if (anew) set_aside(*before);
  try {
    write(checkpoint, is_best);
  } catch (...) {
    if (anew) bring_back(*before);
    throw;
  }
  generation_ = checkpoint.generation;
  prune(checkpoint.step);
}

void CheckpointStore::write(const Checkpoint& checkpoint, bool is_best) const {
  const fs::path path = folder_ / file_name(checkpoint.step);
  if (!is_best) return save_checkpoint(path, checkpoint, model_);
  // First, so that no checkpoint ever knows of a best one that was not kept.
  const fs::path best = folder_ / kBestFile;
  save_checkpoint(best, checkpoint, model_);
  try {
    files::link_file_atomically(best, path);
  } catch (const core::Error&) {
    save_checkpoint(path, checkpoint, model_);
  }
}

fs::path CheckpointStore::aside_folder(std::uint64_t generation) const {
  return folder_ / fmt::format("generation-{}", generation);
}

/// A reset must not cost what was recorded before it.
void CheckpointStore::set_aside(std::uint64_t generation) const {
  std::vector<fs::path> files;
  for (const CheckpointFile& file : list_checkpoints(run_)) files.push_back(file.path);
  std::error_code error;
  if (fs::exists(folder_ / kBestFile, error)) files.push_back(folder_ / kBestFile);
  if (files.empty()) return;
  const fs::path aside = aside_folder(generation);
  fs::create_directories(aside, error);
  for (const fs::path& file : files) {
    if (!error) fs::rename(file, aside / file.filename(), error);
  }
  if (error) {
    throw core::Error(
        fmt::format("cannot move the earlier checkpoints to {}: {}", aside.string(), error.message()));
  }
}

/// Those that were set aside for a checkpoint that could not be written.
void CheckpointStore::bring_back(std::uint64_t generation) const {
  std::error_code ignored;
  const fs::path aside = aside_folder(generation);
  for (const fs::directory_entry& entry : files::entries_of(aside, ignored))
    fs::rename(entry.path(), folder_ / entry.path().filename(), ignored);
  fs::remove(aside, ignored);
}

void CheckpointStore::prune(std::uint64_t step) const {
  std::size_t kept = 0;
  for (const CheckpointFile& file : list_checkpoints(run_)) {
    if (file.step <= step && ++kept <= keep_) continue;
    // What cannot be deleted only costs space, and the next save tries again.
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
