#include "gpu/runs/run_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/read_json.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFile = "run.json";
constexpr const char* kMetricsFile = "metrics.jsonl";
constexpr const char* kLockFile = ".lock";
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && fs::is_directory(folder, error)) return;
  throw core::BadInput(fmt::format("cannot make the run folder {}: {}; choose another", folder.string(),
                                   error ? error.message() : "a file has its name"));
}

/// What a run leaves whose run.json could not be written, as on a full disk, is none.
bool is_left_empty(const fs::path& file) {
  std::error_code error;
  return file.filename() == kMetricsFile && fs::is_regular_file(fs::symlink_status(file, error)) &&
         fs::file_size(file, error) == 0 && !error;
}

void check_unused(const fs::path& folder) {
  for (const char* name : {kRunFile, kMetricsFile}) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(folder / name, error)) || is_left_empty(folder / name)) continue;
    throw core::BadInput(
        fmt::format("{} holds a run already ({}); choose another folder", folder.string(), name));
  }
}

/// The locked file .lock in `folder`.
int lock(const fs::path& folder) {
  const int descriptor = ::open((folder / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    throw core::BadInput(fmt::format("cannot write to the run folder {}: {}; choose another", folder.string(),
                                     std::strerror(errno)));
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  const int error = errno;
  ::close(descriptor);
  throw core::BadInput(fmt::format("the run folder {} {}; choose another", folder.string(),
                                   error == EWOULDBLOCK
                                       ? std::string("is in use by another process")
                                       : fmt::format("cannot be locked: {}", std::strerror(error))));
}

void check_used(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / kRunFile, error)) {
    throw core::BadInput(fmt::format("{} holds no run ({} is missing); choose the folder of a run",
                                     folder.string(), kRunFile));
  }
  const fs::path metrics = folder / kMetricsFile;
  if (!fs::exists(fs::symlink_status(metrics, error))) return;
  const files::InputFile readable(metrics);  // or it throws; a pipe would be waited for
}

/// What a line of metrics.jsonl is about.
struct MetricsLine {
  nlohmann::json object;
  std::uint64_t step = 0;
  bool is_reset = false;
};

/// None if the line is not a JSON object with a step.
std::optional<MetricsLine> read_metrics_line(const std::string& line) {
  nlohmann::json object = files::read_json(line);
  if (!object.is_object()) return {};
  const auto step = object.find("step");
  if (step == object.end() || !step->is_number_unsigned()) return {};
  const auto marker = object.find("marker");
  const bool is_reset = marker != object.end() && *marker == "reset" && *step == 0;
  const auto number = step->get<std::uint64_t>();
  return MetricsLine{std::move(object), number, is_reset};
}

/// Calls take(text, line, generation) for each whole line of metrics.jsonl. A reset opens its generation.
template <class Take>
void for_each_metrics_line(const fs::path& path, Take take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw core::Error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  std::uint64_t generation = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const auto read = read_metrics_line(line);
    if (!read) continue;
    if (read->is_reset) ++generation;
    take(line, *read, generation);
  }
  if (file.bad()) throw core::Error(fmt::format("cannot read {}", path.string()));
}

/// Leaves in metrics.jsonl what belongs to a run that goes on after `step` of `generation`.
void cut_metrics(const fs::path& path, std::uint64_t step, std::optional<std::uint64_t> generation,
                 const std::function<void(const nlohmann::json&)>& take) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (!generation) {
    generation = 0;
    for_each_metrics_line(
        path, [&](const std::string&, const MetricsLine&, std::uint64_t of_line) { generation = of_line; });
  }
  files::AtomicFile file(path);
  std::string block;
  for_each_metrics_line(path, [&](const std::string& text, const MetricsLine& line, std::uint64_t of_line) {
    if (of_line > *generation || (of_line == *generation && line.step > step)) return;
    if (take) take(line.object);
    block += text;
    block += '\n';
    if (block.size() < kBlockBytes) return;
    file.write(block);
    block.clear();
  });
  file.write(block);
  file.commit();
}

/// Appends to the file. Returns the bytes written; fewer than asked for means that errno
/// says why.
std::size_t write_at_end(int descriptor, std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ::ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

std::string utc_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  ::gmtime_r(&now, &time);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &time);
  return text.data();
}

}  // namespace

RunFolder RunFolder::create(const fs::path& folder) {
  make_folder(folder);
  // Before the lock too, so that a folder that is refused is left as it was.
  check_unused(folder);
  RunFolder run;
  run.folder_ = folder;
  run.lock_ = lock(folder);
  check_unused(folder);
  run.open_metrics(O_NOFOLLOW);
  return run;
}

RunFolder RunFolder::reopen(const fs::path& folder) {
  // Before the lock, so that a folder that is refused is left as it was.
  check_used(folder);
  RunFolder run;
  run.folder_ = folder;
  run.lock_ = lock(folder);
  files::remove_leftovers(folder);
  return run;
}

void RunFolder::resume_at(std::uint64_t step, std::optional<std::uint64_t> generation,
                          const std::function<void(const nlohmann::json&)>& take) {
  cut_metrics(folder_ / kMetricsFile, step, generation, take);
  open_metrics(0);
  metrics_bytes_ = ::lseek(metrics_, 0, SEEK_END);
}

void RunFolder::repeat(std::uint64_t generation, std::uint64_t step,
                       const std::function<void(const nlohmann::json&)>& take) {
  std::string block;
  for_each_metrics_line(folder_ / kMetricsFile,
                        [&](const std::string& text, const MetricsLine& line, std::uint64_t of_line) {
                          if (of_line != generation || line.step > step || line.is_reset) return;
                          take(line.object);
                          block += text;
                          block += '\n';
                          if (block.size() < kBlockBytes) return;
                          // What is appended meanwhile belongs to the last generation, and is not taken again.
                          append_metrics(block);
                          block.clear();
                        });
  append_metrics(block);
}

void RunFolder::open_metrics(int flags) {
  metrics_ = ::open((folder_ / kMetricsFile).c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0666);
  if (metrics_ >= 0) return;
  throw core::BadInput(fmt::format("cannot write {}: {}; choose another folder",
                                   (folder_ / kMetricsFile).string(), std::strerror(errno)));
}

void RunFolder::leave_whole_lines() {
  struct stat now {};
  if (::fstat(metrics_, &now) != 0 || now.st_size == metrics_bytes_) return;
  metrics_bytes_ = std::min<std::int64_t>(metrics_bytes_, now.st_size);
  char last = '\0';
  while (metrics_bytes_ > 0 && ::pread(metrics_, &last, 1, metrics_bytes_ - 1) == 1 && last != '\n') {
    --metrics_bytes_;
  }
  if (metrics_bytes_ < now.st_size && ::ftruncate(metrics_, metrics_bytes_) != 0) {
    throw core::Error(
        fmt::format("cannot write {}: {}", (folder_ / kMetricsFile).string(), std::strerror(errno)));
  }
}

void RunFolder::keep_metrics() {
  const fs::path path = folder_ / kMetricsFile;
  struct stat there {};
  if (metrics_ < 0 || ::stat(path.c_str(), &there) == 0 || errno != ENOENT) return;
  leave_whole_lines();
  const int held = metrics_;
  make_folder(folder_);
  metrics_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool whole = metrics_ >= 0;
  std::string block(kBlockBytes, '\0');
  for (std::int64_t at = 0; whole && at < metrics_bytes_;) {
    const ::ssize_t read = ::pread(held, block.data(), block.size(), at);
    if (read < 0 && errno == EINTR) continue;
    whole = read > 0 && write_at_end(metrics_, {block.data(), static_cast<std::size_t>(read)}) ==
                            static_cast<std::size_t>(read);
    at += read;
  }
  const int error = errno;
  const int left = whole ? held : std::exchange(metrics_, held);
  if (left >= 0) ::close(left);
  if (whole) return;
  if (left >= 0) ::unlink(path.c_str());
  throw core::Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : folder_(std::move(other.folder_)),
      lock_(std::exchange(other.lock_, -1)),
      metrics_(std::exchange(other.metrics_, -1)),
      metrics_bytes_(other.metrics_bytes_) {}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(lock_, other.lock_);
  std::swap(metrics_, other.metrics_);
  std::swap(metrics_bytes_, other.metrics_bytes_);
  return *this;
}

RunFolder::~RunFolder() {
  if (metrics_ >= 0) ::close(metrics_);
  if (lock_ >= 0) ::close(lock_);
}

void RunFolder::write_run(const nlohmann::json& run) {
  keep_metrics();
  if (::fsync(metrics_) != 0) {
    throw core::Error(
        fmt::format("cannot write {}: {}", (folder_ / kMetricsFile).string(), std::strerror(errno)));
  }
  const std::string text = run.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  files::write_file_atomically(folder_ / kRunFile, text + "\n");
}

void RunFolder::append_metrics(std::string_view lines) {
  if (lines.empty()) return;
  keep_metrics();
  leave_whole_lines();
  const std::string text = std::string(lines) + (lines.ends_with('\n') ? "" : "\n");
  const std::size_t written = write_at_end(metrics_, text);
  const int error = errno;
  if (written == text.size()) {
    metrics_bytes_ += static_cast<std::int64_t>(written);
    return;
  }
  const std::size_t newline = std::string_view(text).substr(0, written).rfind('\n');
  if (newline != std::string_view::npos) metrics_bytes_ += static_cast<std::int64_t>(newline) + 1;
  // Cutting needs no space. Should it fail all the same, the next append cuts.
  const bool cut = ::ftruncate(metrics_, metrics_bytes_) == 0;
  throw core::Error(fmt::format("cannot write {}: {}{}", (folder_ / kMetricsFile).string(),
                                std::strerror(error), cut ? "" : "; its last line is not whole"));
}

fs::path default_run_dir(const fs::path& parent) {
  make_folder(parent);
  const std::string stamp = utc_stamp();
  for (int n = 1;; ++n) {
    const fs::path folder = parent / fmt::format("{}-{}", stamp, n);
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) {
      throw core::BadInput(fmt::format("cannot make the run folder {}: {}; choose another", folder.string(),
                                       std::strerror(errno)));
    }
  }
}

}  // namespace warpscope::training
