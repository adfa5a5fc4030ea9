#include "gpu/user_kernels/cache.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include "gpu/files/file.h"

namespace warpscope::user_kernels {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLock = "lock";
constexpr std::size_t kKeyDigits = 32;

/// Not open where the folder takes no file: then nobody can prune it either.
ranks::Descriptor open_lock(const fs::path& folder) {
  return ranks::Descriptor(::open((folder / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

/// Code, notes and what an unfinished compile has left.
bool is_made(const std::string& name) {
  const bool hexadecimal =
      name.find_first_not_of("0123456789abcdef") >= kKeyDigits && name.size() > kKeyDigits;
  return hexadecimal || name.starts_with("checked-") || (name.starts_with('.') && name.ends_with(".tmp"));
}

struct Kept {
  fs::path path;
  fs::file_time_type used;
  std::uintmax_t bytes = 0;
};

std::vector<Kept> kept_in(const fs::path& folder) {
  std::vector<Kept> all;
  std::error_code error;
  for (const fs::directory_entry& each : files::entries_of(folder, error)) {
    const std::string name = each.path().filename().string();
    std::error_code failed;
    if (each.is_symlink(failed)) continue;
    if (each.is_directory(failed) && name.starts_with("include-")) {
      const fs::file_time_type used = fs::last_write_time(each.path() / "complete", failed);
      if (!failed) all.push_back({each.path(), used, 0});
    } else if (each.is_regular_file(failed) && is_made(name)) {
      all.push_back({each.path(), each.last_write_time(failed), each.file_size(failed)});
      if (failed) all.pop_back();
    }
  }
  std::ranges::sort(all, {}, &Kept::used);
  return all;
}

}  // namespace

CacheUse::CacheUse(const fs::path& folder) : lock_(open_lock(folder)) {
  if (lock_.open()) static_cast<void>(::flock(lock_.number(), LOCK_SH));
}

void CacheUse::note(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

void prune(const fs::path& folder, const CacheLimits& limits) {
  const ranks::Descriptor lock = open_lock(folder);
  if (!lock.open() || ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) return;
  const std::vector<Kept> all = kept_in(folder);
  std::uintmax_t bytes = 0;
  for (const Kept& each : all) bytes += each.bytes;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  for (const Kept& each : all) {
    const auto unused = now - each.used;
    if (unused < limits.kept || (unused < limits.unused && (bytes <= limits.bytes || each.bytes == 0)))
      continue;
    std::error_code error;
    fs::remove_all(each.path, error);
    if (!error) bytes -= each.bytes;
  }
}

}  // namespace warpscope::user_kernels
