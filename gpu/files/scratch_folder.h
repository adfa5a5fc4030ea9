#pragma once
// Folders for files that are of no use once the process that made them has ended.

#include <filesystem>

namespace warpscope::files {

/// A folder of this process in one that several processes share.
class ScratchFolder {
 public:
  /// Makes it in `parent`, which is made too, and removes those of processes that have ended without doing so. Throws
  /// core::Error.
  explicit ScratchFolder(const std::filesystem::path& parent);
  /// Removes it with all that is in it.
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  ///< of its file "lock": others see that it is in use
};

}  // namespace warpscope::files
