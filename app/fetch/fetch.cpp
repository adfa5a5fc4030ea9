#include "app/fetch/fetch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "app/fetch/download.h"
#include "app/fetch/unpack.h"
#include "gpu/data/sets.h"

namespace warpscope::fetch {
namespace {

namespace fs = std::filesystem;

/// Passes progress on, but not more often than people can see. Several files count as one.
class Reporter {
 public:
  explicit Reporter(const Callback& callback) : callback_(callback) {}

  /// Announces a file of this size.
  void expect(std::int64_t bytes) { expected_ += bytes; }
  /// The file at hand is done and had this size.
  void finish(std::int64_t bytes) { finished_ += bytes; }

  void operator()(Phase phase, std::int64_t done, std::int64_t total) {
    done += finished_;
    if (expected_ > 0) total = std::max(expected_, done);
    constexpr auto kInterval = std::chrono::milliseconds(100);
    const auto now = std::chrono::steady_clock::now();
    if (started_ && phase == phase_ && done != total && now - last_ < kInterval) return;
    started_ = true;
    phase_ = phase;
    last_ = now;
    if (callback_ && !callback_({phase, done, total})) throw Cancelled("the fetch was cancelled");
  }

 private:
  const Callback& callback_;
  std::int64_t expected_ = 0;  // 0: a single file, of which the server tells the size
  std::int64_t finished_ = 0;
  bool started_ = false;
  Phase phase_ = Phase::download;
  std::chrono::steady_clock::time_point last_;
};

/// Writes a file to the disk. Throws Error if that fails.
void sync_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) throw core::Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(reason)));
}

/// A folder with a unique name in `parent`, removed with all it holds at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& parent) {
    std::string name = (parent / ".unpack-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw core::Error(fmt::format("cannot make a folder in {}: {}", parent.string(), std::strerror(errno)));
    }
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Writes the entries of `folder` to the disk. Best effort: not every file system can.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

void make_destination(const fs::path& destination) {
  std::error_code error;
  fs::create_directories(destination, error);
  if (error || !fs::is_directory(destination, error)) {
    throw core::BadInput(fmt::format("cannot make the folder {}: {}; choose another", destination.string(),
                                     error ? error.message() : "something else has its name"));
  }
}

/// Refuses to replace what somebody else put there.
void check_target(const fs::path& target, std::string_view data_set) {
  std::error_code error;
  const bool absent = !fs::exists(fs::symlink_status(target, error));
  if (absent || (fs::is_directory(target, error) && fs::is_empty(target, error))) return;
  throw core::BadInput(
      fmt::format("{} is there already, but it is not a complete {}; move or delete it, then fetch again",
                  target.string(), data_set));
}

void rename_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw core::Error(fmt::format("cannot make {}: {}", to.string(), error.message()));
}

/// Moves a complete folder to its final place.
void move_folder(const fs::path& folder, const fs::path& target) {
  sync_folder(folder);
  rename_to(folder, target);
  sync_folder(target.parent_path());
}

void download_and_check(const std::string& url, const std::string& md5, PartFile& part, Reporter& report) {
  const auto digest = [&] {
    return part.md5([&](std::int64_t bytes) { report(Phase::check, bytes, part.size()); });
  };
  // A fetch that was cancelled late left the complete file.
  if (part.size() > 0 && digest() == md5) return;
  download(url, part, [&](std::int64_t bytes, std::int64_t total) { report(Phase::download, bytes, total); });
  const std::string found = digest();
  if (found == md5) return;
  part.clear();  // an empty one is removed at the end
  throw core::Error(fmt::format(
      "what {} sent has the MD5 checksum {} instead of {}, so it was removed; fetch again, and if "
      "that does not help, the file on the server has changed",
      url, found, md5));
}

/// Downloads one file from the first mirror that has it.
void download_from_mirrors(const Source& source, const SourceFile& file, PartFile& part, Reporter& report) {
  for (std::size_t i = 0; i < source.mirrors.size(); ++i) {
    try {
      return download_and_check(source.mirrors[i] + file.name, file.md5, part, report);
    } catch (const Cancelled&) {
      throw;
    } catch (const core::Error&) {
      if (i + 1 == source.mirrors.size()) throw;
    }
  }
}

using Parts = std::vector<std::unique_ptr<PartFile>>;

/// Unpacks the archive and puts its folder in place of `target`.
void place_archive(const Source& source, PartFile& part, const fs::path& target, Reporter& report) {
  const TemporaryFolder temporary(target.parent_path());
  unpack(part.path(), temporary.path(),
         [&](std::int64_t bytes) { report(Phase::unpack, bytes, part.size()); });
  const fs::path unpacked = temporary.path() / source.archive_folder;
  std::error_code error;
  if (!fs::is_directory(unpacked, error)) {
    throw core::Error(
        fmt::format("the archive {} holds no folder {}", source.files.front().name, source.archive_folder));
  }
  move_folder(unpacked, target);
  part.remove();
}

/// Puts the files, as they are, in `target`.
void place_files(const Source& source, const Parts& parts, const fs::path& target) {
  const TemporaryFolder temporary(target.parent_path());
  const fs::path folder = temporary.path() / target.filename();
  make_destination(folder);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sync_file(parts[i]->path());
    rename_to(parts[i]->path(), folder / source.files[i].name);
  }
  move_folder(folder, target);
}

/// The name that a file has until it is there as a whole. Archives have names of their own, but the files of
/// MNIST and Fashion-MNIST have the same ones: neither may go on with what came of the other.
std::string part_name(const Source& source, const SourceFile& file) {
  const std::string set = source.archive_folder.empty() ? source.data_set + "." : "";
  return fmt::format("{}{}.part", set, file.name);
}

}  // namespace

fs::path fetch_data_set(const Source& source, const fs::path& destination, const Callback& progress) {
  const data::SetRow* set = data::find_set(source.data_set);
  if (set == nullptr || !set->published())
    throw std::logic_error("no published data set is named " + source.data_set);
  const fs::path target = destination / set->folders.front();
  if (set->is_complete(target)) return target;
  check_target(target, set->title);
  make_destination(destination);
  Parts parts;
  for (const SourceFile& file : source.files) {
    parts.push_back(std::make_unique<PartFile>(destination / part_name(source, file)));
  }
  // Another process may have finished between the first look and the locks.
  if (set->is_complete(target)) return target;
  check_target(target, set->title);
  Reporter report(progress);
  for (const SourceFile& file : source.files) report.expect(file.bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    download_from_mirrors(source, source.files[i], *parts[i], report);
    if (source.archive_folder.empty()) report.finish(parts[i]->size());
  }
  if (source.archive_folder.empty()) {
    place_files(source, parts, target);
  } else {
    place_archive(source, *parts.front(), target, report);
  }
  return target;
}

}  // namespace warpscope::fetch
