#include "app/fetch/unpack.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/error.h"

namespace warpscope::fetch {
namespace {

namespace fs = std::filesystem;

struct CloseArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ArchiveHandle = std::unique_ptr<archive, CloseArchive>;

[[noreturn]] void fail_read(const fs::path& path, archive* handle) {
  const char* reason = archive_error_string(handle);
  throw core::Error(fmt::format("cannot unpack {}: {}", path.string(),
                                reason != nullptr ? reason : "it is not an archive"));
}

ArchiveHandle open_archive(const fs::path& path) {
  ArchiveHandle handle(archive_read_new());
  if (!handle) throw core::OutOfMemory("no memory left to unpack " + path.string());
  archive_read_support_filter_all(handle.get());
  archive_read_support_format_tar(handle.get());
  constexpr std::size_t kBlockBytes = 256 * 1024;
  if (archive_read_open_filename(handle.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    fail_read(path, handle.get());
  }
  return handle;
}

/// A file being unpacked.
class OutputFile {
 public:
  // O_EXCL and O_NOFOLLOW: an entry can neither replace nor go through what an earlier one made.
  explicit OutputFile(fs::path path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail();
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { ::close(descriptor_); }

  void write(const char* data, std::size_t bytes, std::int64_t offset) const {
    while (bytes > 0) {
      const ::ssize_t written = ::pwrite(descriptor_, data, bytes, offset);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      data += written;
      bytes -= static_cast<std::size_t>(written);
      offset += written;
    }
  }

  void finish(std::int64_t bytes) const {
    if (::ftruncate(descriptor_, bytes) != 0 || ::fsync(descriptor_) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw core::Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
  }

  fs::path path_;
  int descriptor_;
};

/// The path of an entry, relative and inside. Throws Error otherwise.
fs::path checked_path(const fs::path& archive_path, archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  const auto refuse = [&](const char* why) {
    throw core::Error(fmt::format("refused to unpack {}: its entry \"{}\" {}", archive_path.string(),
                                  name != nullptr ? name : "", why));
  };
  if (name == nullptr || *name == '\0') refuse("has no name");
  const fs::path path(name);
  if (path.is_absolute()) refuse("has an absolute path");
  for (const fs::path& part : path) {
    if (part == "..") refuse("leads out of the folder");
  }
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr)
    refuse("is a link");
  const auto type = archive_entry_filetype(entry);
  if (type != AE_IFREG && type != AE_IFDIR) refuse("is neither a file nor a folder");
  return path.lexically_normal();
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw core::Error(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
}

void unpack_file(const fs::path& archive_path, archive* handle, const fs::path& target,
                 const std::function<void(std::int64_t)>& progress) {
  make_folders(target.parent_path());
  const OutputFile file(target);
  std::int64_t end = 0;
  for (;;) {
    const void* block = nullptr;
    std::size_t bytes = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(handle, &block, &bytes, &offset);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK) fail_read(archive_path, handle);
    file.write(static_cast<const char*>(block), bytes, offset);
    end = offset + static_cast<std::int64_t>(bytes);
    progress(archive_filter_bytes(handle, -1));
  }
  file.finish(end);
}

}  // namespace

void unpack(const fs::path& archive_path, const fs::path& destination,
            const std::function<void(std::int64_t bytes)>& progress) {
  const ArchiveHandle handle = open_archive(archive_path);
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle.get(), &entry);
    if (status == ARCHIVE_EOF) return;
    if (status != ARCHIVE_OK) fail_read(archive_path, handle.get());
    const fs::path target = destination / checked_path(archive_path, entry);
    if (archive_entry_filetype(entry) == AE_IFDIR) {
      make_folders(target);
    } else {
      unpack_file(archive_path, handle.get(), target, progress);
    }
  }
}

}  // namespace warpscope::fetch
