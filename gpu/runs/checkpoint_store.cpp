#include "gpu/runs/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"

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
void take(const fs::path& path, const models::Model& model, NewestCheckpoint& newest) {
  try {
    newest.checkpoint = load_checkpoint(path, model);
    newest.path = path;
  } catch (const core::BadInput& error) {
    newest.skipped.emplace_back(error.what());
  }
}

[[noreturn]] void cannot_move_to(const fs::path& aside, const std::error_code& error) {
  throw core::Error(
      fmt::format("cannot move the earlier checkpoints to {}: {}", aside.string(), error.message()));
}

/// Another name for a file, durably; a copy where the file system has no hard links.
void give_second_name(const fs::path& file, const fs::path& name) {
  try {
    files::link_file_atomically(file, name);
  } catch (const core::Error&) {
    files::write_file_atomically(name, files::read_text(file));
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
    // Where a save was killed, those of an earlier generation are still there, perhaps of later steps.
    const auto& found = newest.checkpoint;
    if (!found || generation_of(file.path) > found->generation) take(file.path, model, newest);
  }
  if (newest.checkpoint) return newest;
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
  try {
    if (anew || mixed_with_) keep_replaced(checkpoint, is_best);
    write(checkpoint, is_best);
  } catch (...) {
    if (anew) bring_back(*before);
    throw;
  }
  generation_ = checkpoint.generation;
  if (anew) mixed_with_ = before;
  if (mixed_with_) {
    std::set<fs::path> written{folder_ / file_name(checkpoint.step)};
    if (is_best) written.insert(folder_ / kBestFile);
    set_aside_others(*generation_, written, mixed_with_);
    mixed_with_.reset();
  }
  prune(checkpoint.step);
}

void CheckpointStore::goes_on_with(std::uint64_t generation) {
  generation_ = generation;
  bring_back(generation);
  set_aside_others(generation, {}, {});
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

fs::path CheckpointStore::make_aside_folder(std::uint64_t generation) const {
  fs::path aside = aside_folder(generation);
  std::error_code error;
  fs::create_directories(aside, error);
  if (error) cannot_move_to(aside, error);
  return aside;
}

/// A reset must not cost what was recorded before it: what write() replaces gets a second name.
void CheckpointStore::keep_replaced(const Checkpoint& checkpoint, bool is_best) const {
  std::vector<fs::path> replaced{folder_ / file_name(checkpoint.step)};
  if (is_best) replaced.push_back(folder_ / kBestFile);
  for (const fs::path& file : replaced) {
    const auto generation = generation_of(file);
    if (generation && *generation != checkpoint.generation)
      give_second_name(file, make_aside_folder(*generation) / file.filename());
  }
}

/// Checkpoints that are not of this generation move to the folders of theirs; those that cannot be read and were not
/// just `written`, to that of `otherwise`.
void CheckpointStore::set_aside_others(std::uint64_t generation, const std::set<fs::path>& written,
                                       std::optional<std::uint64_t> otherwise) const {
  std::vector<fs::path> files{folder_ / kBestFile};
  for (const CheckpointFile& file : list_checkpoints(run_)) files.push_back(file.path);
  for (const fs::path& file : files) {
    std::error_code error;
    if (written.contains(file) || !fs::exists(file, error)) continue;
    auto other = generation_of(file);
    if (!other) other = otherwise;
    if (!other || *other == generation) continue;
    const fs::path aside = make_aside_folder(*other);
    fs::rename(file, aside / file.filename(), error);
    if (error) cannot_move_to(aside, error);
    fs::remove(file, error);  // renaming one name of a file to another leaves both
  }
}

/// What keep_replaced() has kept for a checkpoint that was not written in the end.
void CheckpointStore::bring_back(std::uint64_t generation) const {
  std::error_code ignored;
  const fs::path aside = aside_folder(generation);
  files::remove_leftovers(aside);
  for (const fs::directory_entry& entry : files::entries_of(aside, ignored)) {
    const fs::path file = folder_ / entry.path().filename();
    if (!fs::exists(file, ignored)) continue;
    if (generation_of(file) != generation) {
      fs::rename(entry.path(), file, ignored);
    } else if (fs::equivalent(entry.path(), file, ignored)) {
      fs::remove(entry.path(), ignored);
    }
  }
  fs::remove(aside, ignored);  // if nothing else is in it
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
