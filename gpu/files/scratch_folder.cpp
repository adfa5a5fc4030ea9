#include "gpu/files/scratch_folder.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "gpu/core/error.h"

namespace warpscope::files {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScratchLock = "lock";

/// A descriptor that holds the lock of `file`, which is made; -1 with errno if another process has it.
int scratch_lock(const fs::path& file, int how) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return -1;
  int result = 0;
  do {
    result = ::flock(descriptor, how);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return descriptor;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return -1;
}

[[noreturn]] void refuse_scratch(const fs::path& folder, const std::string& why) {
  throw core::Error(fmt::format("cannot make a folder in {}: {}", folder.string(), why));
}

/// Those that nobody holds.
void remove_left_scratch(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown) && !entry->is_symlink(unknown)) folders.push_back(entry->path());
  }
  for (const fs::path& folder : folders) {
    const int lock = scratch_lock(folder / kScratchLock, LOCK_EX | LOCK_NB);
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    ::close(lock);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const fs::path& parent) {
  static std::atomic<std::uint64_t> count{0};
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) refuse_scratch(parent, error.message());
  // Held until the new one has its own: nobody finds it without.
  const int all = scratch_lock(parent / kScratchLock, LOCK_EX);
  if (all < 0) refuse_scratch(parent, std::strerror(errno));
  remove_left_scratch(parent);
  bool made = false;
  while (!made && !error) {
    path_ = parent / fmt::format("{}-{}", ::getpid(), count++);
    made = fs::create_directory(path_, error);
  }
  if (made) lock_ = scratch_lock(path_ / kScratchLock, LOCK_EX | LOCK_NB);
  const int failure = errno;
  ::close(all);
  if (error) refuse_scratch(parent, error.message());
  if (lock_ < 0) refuse_scratch(parent, std::strerror(failure));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace warpscope::files
