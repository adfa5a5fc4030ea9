#pragma once
// What the readers of data files share.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace warpscope::data {

/// "30,730,000"
std::string grouped(std::int64_t number);

/// True if `path` is there. Throws BadInput if that cannot be told.
bool is_there(const std::filesystem::path& path);

/// A file, open for reading.
class InputFile {
 public:
  /// Throws BadInput, with the path and the system's reason, if it cannot be opened or is not a file.
  explicit InputFile(std::filesystem::path path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }

  /// Fills `bytes` from the byte `offset` on; may be called from several threads. Throws Error if reading fails, and if
  /// the file has become shorter than that.
  void read(std::int64_t offset, std::span<std::uint8_t> bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace warpscope::data
