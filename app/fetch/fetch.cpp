#include "app/fetch/fetch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "app/fetch/download.h"
#include "gpu/core/error.h"
#include "gpu/data/sets.h"

namespace warpscope::fetch {
namespace {

namespace fs = std::filesystem;

// Unpacks archives that may have been made to do harm.

struct CloseArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ArchiveHandle = std::unique_ptr<archive, CloseArchive>;

[[noreturn]] void fail_read(const fs::path& path, archive* handle) {
  const char* reason = archive_error_string(handle);
  throw core::Error(fmt::format("cannot unpack {}: {}", path.string(),
                                reason != nullptr ? reason : "it is not an archive"));
}

ArchiveHandle open_archive(const fs::path& path) {
  ArchiveHandle handle(archive_read_new());
  if (!handle) throw core::OutOfMemory("no memory left to unpack " + path.string());
  archive_read_support_filter_all(handle.get());
  archive_read_support_format_tar(handle.get());
  constexpr std::size_t kBlockBytes = 256 * 1024;
  if (archive_read_open_filename(handle.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    fail_read(path, handle.get());
  }
  return handle;
}

/// A file being unpacked.
class OutputFile {
 public:
  // O_EXCL and O_NOFOLLOW: an entry can neither replace nor go through what an earlier one made.
  explicit OutputFile(fs::path path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail();
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { ::close(descriptor_); }

  void write(const char* data, std::size_t bytes, std::int64_t offset) const {
    while (bytes > 0) {
      const ::ssize_t written = ::pwrite(descriptor_, data, bytes, offset);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      data += written;
      bytes -= static_cast<std::size_t>(written);
      offset += written;
    }
  }

  void finish(std::int64_t bytes) const {
    if (::ftruncate(descriptor_, bytes) != 0 || ::fsync(descriptor_) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw core::Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
  }

  fs::path path_;
  int descriptor_;
};

/// The path of an entry, relative and inside. Throws Error otherwise.
fs::path checked_path(const fs::path& archive_path, archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  const auto refuse = [&](const char* why) {
    throw core::Error(fmt::format("refused to unpack {}: its entry \"{}\" {}", archive_path.string(),
                                  name != nullptr ? name : "", why));
  };
  if (name == nullptr || *name == '\0') refuse("has no name");
  const fs::path path(name);
  if (path.is_absolute()) refuse("has an absolute path");
  for (const fs::path& part : path) {
    if (part == "..") refuse("leads out of the folder");
  }
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr)
    refuse("is a link");
  const auto type = archive_entry_filetype(entry);
  if (type != AE_IFREG && type != AE_IFDIR) refuse("is neither a file nor a folder");
  return path.lexically_normal();
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw core::Error(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
}

void unpack_file(const fs::path& archive_path, archive* handle, const fs::path& target,
                 const std::function<void(std::int64_t)>& progress) {
  make_folders(target.parent_path());
  const OutputFile file(target);
  std::int64_t end = 0;
  for (;;) {
    const void* block = nullptr;
    std::size_t bytes = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(handle, &block, &bytes, &offset);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK) fail_read(archive_path, handle);
    file.write(static_cast<const char*>(block), bytes, offset);
    end = offset + static_cast<std::int64_t>(bytes);
    progress(archive_filter_bytes(handle, -1));
  }
  file.finish(end);
}

/// Unpacks `archive` (tar, plain or compressed) into the existing folder `destination`; every file is on the
/// disk when it returns. `progress` gets the bytes of the archive read so far and throws to stop. Throws
/// core::Error if the archive is damaged, holds an absolute path, a path with "..", a link or a special file,
/// or the same file twice, or if the disk is full. What was unpacked by then is left: the caller removes
/// `destination`.
void unpack(const fs::path& archive_path, const fs::path& destination,
            const std::function<void(std::int64_t bytes)>& progress) {
  const ArchiveHandle handle = open_archive(archive_path);
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle.get(), &entry);
    if (status == ARCHIVE_EOF) return;
    if (status != ARCHIVE_OK) fail_read(archive_path, handle.get());
    const fs::path target = destination / checked_path(archive_path, entry);
    if (archive_entry_filetype(entry) == AE_IFDIR) {
      make_folders(target);
    } else {
      unpack_file(archive_path, handle.get(), target, progress);
    }
  }
}

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
