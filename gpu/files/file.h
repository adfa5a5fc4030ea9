#pragma once
// What the readers of files share.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace warpscope::files {

/// "30,730,000"
std::string grouped(std::int64_t number);

/// "1 image", "2,000 images"; `several` where that is not `one` with an s: "1 class", "3 classes".
std::string counted(std::int64_t number, std::string_view one, std::string_view several = "");

/// True if `path` is there. Throws BadInput if that cannot be told.
bool is_there(const std::filesystem::path& path);

/// What is in a folder, by name; of one that cannot be read to its end what came before the `failure`.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder,
                                                         std::error_code& failure);

/// A file, open for reading. A pipe or a device in its place is not waited for.
class InputFile {
 public:
  /// Throws BadInput, with the path and the system's reason, if it cannot be opened or is not a file.
  explicit InputFile(std::filesystem::path path);
  /// For files that other processes write: nothing where the above throws.
  static std::optional<InputFile> open(std::filesystem::path path) noexcept;
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  std::int64_t size() const { return size_; }  ///< in bytes, when it was opened

  /// Fills `bytes` from the byte `offset` on; may be called from several threads. Throws core::Error if
  /// reading fails, and if the file has become shorter than that.
  void read(std::int64_t offset, std::span<std::uint8_t> bytes) const;

  /// Up to `bytes` from `offset` on; fewer at the end of the file or where reading fails.
  std::string read_up_to(std::int64_t offset, std::size_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// All of a file; nothing if it is not there, cannot be read or has more than `most` bytes.
std::optional<std::string> read_small_file(const std::filesystem::path& path, std::size_t most);

}  // namespace warpscope::files
