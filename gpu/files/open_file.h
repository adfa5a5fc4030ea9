#pragma once
// Files that other processes write, read without ever waiting for them: a pipe in the place of a file is nothing.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace warpscope::runs {

/// A file open for reading, or nothing.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  /// Bytes; nothing if it is no regular file.
  std::optional<std::uint64_t> size() const {
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  int descriptor_;
};

/// Up to `bytes` from `offset`; fewer at the end of the file or where reading fails.
inline std::string read_at(int file, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ::ssize_t got =
        ::pread(file, text.data() + done, bytes - done, static_cast<::off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

/// All of a file; nothing if it is not there, cannot be read or has more than `most` bytes.
inline std::optional<std::string> read_small_file(const std::filesystem::path& path, std::size_t most) {
  const OpenFile file(path);
  const auto size = file.size();
  if (!size || *size > most) return {};
  return read_at(file.get(), 0, static_cast<std::size_t>(*size));
}

}  // namespace warpscope::runs
