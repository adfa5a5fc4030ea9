#include "gpu/training/moment_files.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/training/engine_checkpoint.h"
#include "gpu/training/moments.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMomentPrefix = "step-";
constexpr std::string_view kMomentSuffix = ".safetensors";

std::string moment_file_name(const Moment& moment) {
  return fmt::format("{}{:09}-{}{}", kMomentPrefix, moment.step, moment.number, kMomentSuffix);
}

/// Nothing leads back to what an earlier process has written of a run that is gone on with.
void remove_earlier_moments(const fs::path& folder) {
  files::remove_leftovers(folder);
  std::vector<fs::path> earlier;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kMomentPrefix) && name.ends_with(kMomentSuffix)) earlier.push_back(entry->path());
  }
  for (const fs::path& file : earlier) fs::remove(file, error);
}

}  // namespace

MomentFiles::MomentFiles(Options options)
    : options_(std::move(options)), thread_([this](const std::stop_token& stop) { work(stop); }) {}

MomentFiles::~MomentFiles() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  thread_.request_stop();
  thread_.join();
  if (scratch_ || folder_.empty()) return;
  std::error_code ignored;
  if (!place_->stays) fs::remove_all(folder_, ignored);
}

/// False, and place_error_ says why, if there is none.
bool MomentFiles::find_place() {
  if (place_) return true;
  try {
    place_ = options_.place();
    return true;
  } catch (const core::Error& error) {
    place_error_ = error.what();
    gave_up_ = true;
    return false;
  }
}

/// By the thread, before the first file. Throws core::Error.
void MomentFiles::make_folder() {
  if (!folder_.empty()) return;
  fs::path folder = place_->folder;
  if (place_->shared) {
    scratch_ = std::make_unique<files::ScratchFolder>(folder);
    folder = scratch_->path();
  } else {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error || !fs::is_directory(folder, error)) {
      throw core::Error(fmt::format("cannot make the folder {}: {}", folder.string(),
                                    error ? error.message() : "a file has its name"));
    }
    remove_earlier_moments(folder);
  }
  const std::lock_guard lock(mutex_);
  folder_ = std::move(folder);
}

bool MomentFiles::write(const Moment& moment, std::size_t most_waiting) {
  const std::size_t bytes = moment.bytes();
  if (gave_up_ || bytes > options_.budget || !find_place()) return false;
  Job job{moment.number, bytes, moment_file_name(moment), moment.settings->model, {}, moment.engine};
  job.checkpoint = checkpoint_without_state(*moment.settings, moment.steering, moment.progress);
  job.checkpoint.generation = moment.generation;
  job.checkpoint.head_classes = moment.head_classes;
  job.checkpoint.order.images = options_.images;
  const std::string name = job.name;
  {
    const std::lock_guard lock(mutex_);
    if (failed_ || (waiting_bytes_ > 0 && waiting_bytes_ + bytes > most_waiting)) return false;
    waiting_bytes_ += bytes;
    waiting_.push_back(std::move(job));
  }
  files_[moment.number] = {name, bytes};
  bytes_ += bytes;
  changed_.notify_all();
  return true;
}

void MomentFiles::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return !waiting_.empty() || !going_.empty(); };
  while (changed_.wait(lock, stop, has_work)) {
    const std::vector<std::string> going = std::exchange(going_, {});
    std::optional<Job> next;
    if (!waiting_.empty()) {
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    lock.unlock();
    std::error_code ignored;
    for (const std::string& name : going) {
      if (!folder_.empty())
        fs::remove(folder_ / name, ignored);  // set by this thread, or before anything waits
    }
    if (next) {
      const std::uint64_t number = next->number;
      const std::size_t bytes = next->bytes;
      const std::string error = write_file(std::move(*next), stop);
      next.reset();
      note_written(number, bytes, error);
    }
    lock.lock();
  }
}

/// Why it could not be written, or "".
std::string MomentFiles::write_file(Job job, const std::stop_token& stop) {
  try {
    make_folder();
    const fs::path path = folder_ / job.name;
    std::error_code unknown;
    const fs::space_info space = fs::space(folder_, unknown);
    if (!unknown && space.available < options_.least_free + job.bytes) {
      return fmt::format("cannot write {}: less than {} would stay free on its disk", path.string(),
                         core::memory_text(static_cast<double>(options_.least_free)));
    }
    take_state(job.checkpoint, EngineState(*job.engine));
    // Only this training goes back to it.
    save_checkpoint(path, job.checkpoint, job.model, {.stop = stop, .lasts = false});
    return "";
  } catch (const std::exception& failure) {
    return core::sentence_of(failure);
  }
}

void MomentFiles::note_written(std::uint64_t number, std::size_t bytes, const std::string& error) {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();  // finish() waits
  waiting_bytes_ -= bytes;
  if (error.empty()) return news_.written.push_back(number);
  news_.failed.push_back(number);
  for (const Job& job : waiting_) {
    news_.failed.push_back(job.number);
    waiting_bytes_ -= job.bytes;
  }
  waiting_.clear();
  if (!std::exchange(failed_, true)) news_.error = error;
}

void MomentFiles::finish(const std::function<bool()>& stopped) {
  constexpr std::chrono::milliseconds kLook(20);  // nothing wakes this where it is stopped
  std::unique_lock lock(mutex_);
  while (waiting_bytes_ > 0 && !stopped()) changed_.wait_for(lock, kLook);
}

fs::path MomentFiles::folder() const {
  const std::lock_guard lock(mutex_);
  return folder_;
}

std::string MomentFiles::take_on(const fs::path& folder, std::map<std::uint64_t, File> files) {
  std::error_code unknown;
  const bool there = fs::is_directory(folder, unknown);
  const std::size_t lost = std::erase_if(files, [&](const auto& each) {
    return !there || !fs::is_regular_file(folder / each.second.name, unknown);
  });
  if (there) {
    place_ = Place{.folder = folder, .stays = true};
    for (const auto& [number, file] : files) bytes_ += file.bytes;
    files_ = std::move(files);
    const std::lock_guard lock(mutex_);
    folder_ = folder;
  }
  if (lost == 0) return "";
  return fmt::format("{} of the process before {} not in {} any more",
                     files::counted(static_cast<std::int64_t>(lost), "moment"), lost == 1 ? "is" : "are",
                     folder.string());
}

MomentFiles::News MomentFiles::take_news() {
  News news;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(news_, {});
    gave_up_ = gave_up_ || failed_;
  }
  if (!place_error_.empty()) news.error = std::exchange(place_error_, {});
  for (const std::uint64_t number : news.failed) remove(number);
  return news;
}

EngineState MomentFiles::read(const Moment& moment) const {
  const auto found = files_.find(moment.number);
  if (found == files_.end()) throw core::BadInput("the moment was not written to the disk");
  const fs::path path = [&] {
    const std::lock_guard lock(mutex_);
    return folder_ / found->second.name;
  }();
  try {
    EngineState state = engine_state(load_checkpoint(path, moment.settings->model));
    if (state.steps == moment.step) return state;
  } catch (const std::bad_alloc&) {
    throw core::OutOfMemory("the host has too little memory to read a moment of the training");
  }
  throw core::BadInput(fmt::format("{} is of another step than {}", path.string(), moment.step));
}

void MomentFiles::remove(std::uint64_t number) {
  const auto found = files_.find(number);
  if (found == files_.end()) return;
  {
    const std::lock_guard lock(mutex_);
    const auto waits = std::find_if(waiting_.begin(), waiting_.end(),
                                    [number](const Job& job) { return job.number == number; });
    if (waits != waiting_.end()) {
      waiting_bytes_ -= waits->bytes;
      waiting_.erase(waits);
    } else {
      going_.push_back(found->second.name);  // after the one that is being written
    }
  }
  changed_.notify_all();
  bytes_ -= found->second.bytes;
  files_.erase(found);
}

}  // namespace warpscope::training
