#pragma once
// Files that are replaced whole or not at all.

#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string_view>

#include "gpu/core/error.h"

namespace warpscope::files {

/// How a file is written.
struct Writing {
  std::stop_token stop =
      {};  ///< once it is asked for, Stopped is thrown after a piece at most, and nothing is written
  bool lasts = true;  ///< through a power cut; else nothing waits for the disk
};

/// Somebody has asked for it: see Writing.
class Stopped : public core::Error {
 public:
  using core::Error::Error;
};

/// A file being written beside its final place. commit() moves it there; until then, and after any failure,
/// whatever was at that place before is untouched. A symbolic link to a file at that place is replaced, not followed.
/// Only what is no file (a device, a pipe, or a link to one, such as /dev/stdout) cannot be replaced: it is written to.
class AtomicFile {
 public:
  /// Opens a temporary file ".NAME.PID-N.tmp" in the folder of `path`. Throws core::Error with the path and
  /// the system's reason. `mode` is who may do what with it, as open() takes it.
  explicit AtomicFile(std::filesystem::path path, unsigned mode = 0666);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Removes the temporary file if it was not committed.
  ~AtomicFile();

  /// Adds bytes to the end. On failure (disk full) removes the temporary file and throws Error.
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Syncs the file to the disk, renames it to `path` and syncs the folder. On failure removes the temporary
  /// file and throws Error. Nothing may be written afterwards. Unless it `lasts`, nothing is synced.
  void commit(bool lasts = true);
  /// The same without syncing, unless something has the name `path` already: then nothing changes and this is false. Of
  /// several who do it at once one succeeds; where the file system has no hard links, the last one of them does too.
  bool commit_if_new();

 private:
  [[noreturn]] void fail(const char* what);
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty if `path` is no file
  int descriptor_ = -1;
};

/// Replaces `path` by a file that holds `contents`. Throws core::Error; the old file then stays as it was.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

/// Replaces `path` by a second name (hard link) of `existing`, a file in the same folder. Throws core::Error,
/// also where the file system has no hard links; the old file then stays as it was.
void link_file_atomically(const std::filesystem::path& existing, const std::filesystem::path& path);

/// Removes the temporary files that writers left in `folder` because they were killed. For folders that
/// nobody else writes to, this process included. Returns how many there were; what cannot be removed stays.
int remove_leftovers(const std::filesystem::path& folder);

}  // namespace warpscope::files
