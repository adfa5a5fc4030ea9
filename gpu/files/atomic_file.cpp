#include "gpu/files/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <regex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/error.h"

namespace warpscope::files {
namespace {

namespace fs = std::filesystem;

/// Unique among the threads of this process; the process id does the rest.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<std::uint64_t> count{0};
  constexpr std::size_t kMostBytes = 200;  // of 255 that a name may have: what is put around it fits too
  const std::string name = path.filename().string().substr(0, kMostBytes);
  return path.parent_path() / fmt::format(".{}.{}-{}.tmp", name, ::getpid(), count++);
}

/// Makes a rename in `folder` last. Returns 0 or the error number.
int sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  // Some network file systems cannot sync folders, and say so with EINVAL.
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  ::close(descriptor);
  return error;
}

void sync_folder_of(const fs::path& path) {
  if (const int error = sync_folder(path.parent_path()); error != 0) {
    throw core::Error(fmt::format("{} is written, but its folder cannot be synced to the disk: {}",
                                  path.string(), std::strerror(error)));
  }
}

/// ".NAME.PID-N.tmp"
bool is_temporary_name(const std::string& name) {
  static const std::regex pattern(R"(\..+\.[0-9]+-[0-9]+\.tmp)");
  return std::regex_match(name, pattern);
}

}  // namespace

AtomicFile::AtomicFile(fs::path path, unsigned mode) : path_(std::move(path)) {
  std::error_code unknown;
  if (fs::is_other(path_, unknown)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("write");
    return;
  }
  if (unknown == std::errc::filename_too_long) {  // now, not by the rename after all work
    errno = ENAMETOOLONG;
    fail("write");
  }
  // In a container a process often gets the id of the one before it, which may have left files of the same
  // name.
  do {
    temporary_ = temporary_name(path_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    throw core::Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
  }
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() noexcept {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  descriptor_ = -1;
}

void AtomicFile::fail(const char* what) {
  const int error = errno;
  discard();
  throw core::Error(fmt::format("cannot {} {}: {}", what, path_.string(), std::strerror(error)));
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ::ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit(bool lasts) {
  if (temporary_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("write");
    return;
  }
  if (lasts && ::fsync(descriptor_) != 0) fail("write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("replace");
  ::close(descriptor_);
  descriptor_ = -1;
  if (lasts) sync_folder_of(path_);
}

bool AtomicFile::commit_if_new() {
  if (temporary_.empty()) return false;
  if (::link(temporary_.c_str(), path_.c_str()) == 0) {
    discard();
    return true;
  }
  std::error_code unknown;
  if (errno == EEXIST || fs::exists(path_, unknown)) {
    discard();
    return false;
  }
  commit(false);
  return true;
}

void write_file_atomically(const fs::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

void link_file_atomically(const fs::path& existing, const fs::path& path) {
  fs::path temporary;
  int result = 0;
  do {
    temporary = temporary_name(path);
    result = ::link(existing.c_str(), temporary.c_str());
  } while (result != 0 && errno == EEXIST);
  const bool linked = result == 0;
  if (!linked || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    if (linked) ::unlink(temporary.c_str());
    throw core::Error(
        fmt::format("cannot link {} to {}: {}", path.string(), existing.string(), std::strerror(error)));
  }
  // Renaming one name of a file to another of its names succeeds and leaves both.
  ::unlink(temporary.c_str());
  sync_folder_of(path);
}

int remove_leftovers(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is_temporary_name(entry->path().filename().string())) leftovers.push_back(entry->path());
  }
  int removed = 0;
  for (const fs::path& path : leftovers) removed += ::unlink(path.c_str()) == 0 ? 1 : 0;
  return removed;
}

}  // namespace warpscope::files
