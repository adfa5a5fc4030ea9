#include "gpu/files/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/error.h"

namespace warpscope::files {

std::string grouped(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

std::string counted(std::int64_t number, std::string_view one, std::string_view several) {
  const bool regular = number != 1 && several.empty();
  return fmt::format("{} {}{}", grouped(number), number == 1 || regular ? one : several, regular ? "s" : "");
}

bool is_there(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw core::BadInput(fmt::format("cannot read {}: {}; check its permissions or choose another folder",
                                   path.string(), std::strerror(errno)));
}

std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder,
                                                         std::error_code& failure) {
  std::vector<std::filesystem::directory_entry> entries;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    entries.push_back(*entry);
  }
  std::ranges::sort(entries);
  return entries;
}

InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  const auto refuse = [this](const std::string& what) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw core::BadInput(what);
  };
  if (descriptor_ < 0) refuse(fmt::format("cannot open {}: {}", path_.string(), std::strerror(errno)));
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    refuse(fmt::format("cannot read {}: {}", path_.string(), std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    refuse(fmt::format("{} is {}", path_.string(),
                       S_ISDIR(status.st_mode) ? "a folder, not a file" : "not a file"));
  }
  size_ = status.st_size;
}

std::optional<InputFile> InputFile::open(std::filesystem::path path) noexcept {
  try {
    return InputFile(std::move(path));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::int64_t offset, std::span<std::uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ::ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw core::Error(
          fmt::format("reading {} failed at byte {}: {}", path_.string(), offset, std::strerror(errno)));
    }
    if (got == 0) {
      throw core::Error(
          fmt::format("{} became shorter while it was read: it ends at byte {}", path_.string(), offset));
    }
    offset += got;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::string InputFile::read_up_to(std::int64_t offset, std::size_t bytes) const {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ::ssize_t got =
        ::pread(descriptor_, text.data() + done, bytes - done, offset + static_cast<::off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

std::optional<std::string> read_small_file(const std::filesystem::path& path, std::size_t most) {
  const std::optional<InputFile> file = InputFile::open(path);
  if (!file || std::cmp_greater(file->size(), most)) return std::nullopt;
  return file->read_up_to(0, static_cast<std::size_t>(file->size()));
}

}  // namespace warpscope::files
