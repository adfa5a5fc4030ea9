#pragma once
// A file being downloaded, which can be resumed.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace warpscope::fetch {

/// The partly downloaded file `path`, locked, so that no other process writes to it.
class PartFile {
 public:
  /// Opens or makes it. Throws core::BadInput if that is not allowed or another process has it locked.
  explicit PartFile(std::filesystem::path path);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  /// Keeps the file, unless it is empty.
  ~PartFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Adds to the end. Returns 0, or the error number.
  int append(const char* data, std::size_t bytes);
  /// Makes it empty. Throws core::Error.
  void clear();
  /// The MD5 of what it holds, in lower-case hexadecimal. `progress` gets the bytes read so far and throws to
  /// stop.
  std::string md5(const std::function<void(std::int64_t bytes)>& progress) const;
  void remove() noexcept;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  bool removed_ = false;
};

/// Downloads the rest of `url` (http, https, file) to `part`; from the start if the server cannot resume.
/// `progress` gets the bytes in the file and the expected total (0 while unknown), and throws to stop. Throws
/// core::Error if the server cannot be reached, answers with an error, goes silent for a minute, or the disk
/// is full; what came is kept.
void download(const std::string& url, PartFile& part,
              const std::function<void(std::int64_t bytes, std::int64_t total)>& progress);

}  // namespace warpscope::fetch
