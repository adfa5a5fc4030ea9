#include "app/fetch/fetch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "app/fetch/download.h"
#include "app/fetch/unpack.h"
#include "gpu/data/cifar10.h"
#include "gpu/data/mnist.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

/// Passes progress on, but not more often than people can see. Several files count as one.
class Reporter {
 public:
  explicit Reporter(const FetchCallback& callback) : callback_(callback) {}

  /// Announces a file of this size.
  void expect(std::int64_t bytes) { expected_ += bytes; }
  /// The file at hand is done and had this size.
  void finish(std::int64_t bytes) { finished_ += bytes; }

  void operator()(FetchPhase phase, std::int64_t done, std::int64_t total) {
    done += finished_;
    if (expected_ > 0) total = std::max(expected_, done);
    constexpr auto kInterval = std::chrono::milliseconds(100);
    const auto now = std::chrono::steady_clock::now();
    if (started_ && phase == phase_ && done != total && now - last_ < kInterval) return;
    started_ = true;
    phase_ = phase;
    last_ = now;
    if (callback_ && !callback_({phase, done, total})) throw Cancelled("the fetch was cancelled");
  }

 private:
  const FetchCallback& callback_;
  std::int64_t expected_ = 0;  // 0: a single file, of which the server tells the size
  std::int64_t finished_ = 0;
  bool started_ = false;
  FetchPhase phase_ = FetchPhase::download;
  std::chrono::steady_clock::time_point last_;
};

/// Writes a file to the disk. Throws Error if that fails.
void sync_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) throw core::Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(reason)));
}

/// A folder with a unique name in `parent`, removed with all it holds at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& parent) {
    std::string name = (parent / ".unpack-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw core::Error(fmt::format("cannot make a folder in {}: {}", parent.string(), std::strerror(errno)));
    }
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Writes the entries of `folder` to the disk. Best effort: not every file system can.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

void make_destination(const fs::path& destination) {
  std::error_code error;
  fs::create_directories(destination, error);
  if (error || !fs::is_directory(destination, error)) {
    throw core::BadInput(fmt::format("cannot make the folder {}: {}; choose another", destination.string(),
                                     error ? error.message() : "something else has its name"));
  }
}

/// The name of the archive: what follows the last slash of the address, less any query.
std::string archive_name(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.empty() || name == "." || name == ".." ? "archive" : name;
}

/// Refuses to replace what somebody else put there.
void check_target(const fs::path& target, const char* data_set) {
  std::error_code error;
  const bool absent = !fs::exists(fs::symlink_status(target, error));
  if (absent || (fs::is_directory(target, error) && fs::is_empty(target, error))) return;
  throw core::BadInput(
      fmt::format("{} is there already, but it is not a whole {}; move or delete it, then fetch again",
                  target.string(), data_set));
}

void rename_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw core::Error(fmt::format("cannot make {}: {}", to.string(), error.message()));
}

/// Puts a whole folder in its final place.
void move_folder(const fs::path& whole, const fs::path& target) {
  sync_folder(whole);
  rename_to(whole, target);
  sync_folder(target.parent_path());
}

void download_and_check(const FetchSource& source, PartFile& part, Reporter& report) {
  const auto digest = [&] {
    return part.md5([&](std::int64_t bytes) { report(FetchPhase::check, bytes, part.size()); });
  };
  // A fetch that was cancelled late left the whole file.
  if (part.size() > 0 && digest() == source.md5) return;
  download(source.url, part,
           [&](std::int64_t bytes, std::int64_t total) { report(FetchPhase::download, bytes, total); });
  const std::string found = digest();
  if (found == source.md5) return;
  part.clear();  // an empty one is removed at the end
  throw core::Error(fmt::format(
      "what {} sent has the MD5 checksum {} instead of {}, so it was removed; fetch again, and if "
      "that does not help, the file on the server has changed",
      source.url, found, source.md5));
}

void unpack_and_place(const FetchSource& source, const PartFile& part, const fs::path& target,
                      Reporter& report) {
  const TemporaryFolder temporary(target.parent_path());
  unpack(part.path(), temporary.path(),
         [&](std::int64_t bytes) { report(FetchPhase::unpack, bytes, part.size()); });
  const fs::path unpacked = temporary.path() / source.folder;
  std::error_code error;
  if (!fs::is_directory(unpacked, error)) {
    throw core::Error(fmt::format("the archive from {} holds no folder {}", source.url, source.folder));
  }
  move_folder(unpacked, target);
}

/// Downloads one file of MNIST from the first mirror that has it.
void download_from_mirrors(const MnistSource& source, const MnistFile& file, PartFile& part,
                           Reporter& report) {
  for (std::size_t i = 0; i < source.mirrors.size(); ++i) {
    try {
      return download_and_check({source.mirrors[i] + file.name, file.md5, {}}, part, report);
    } catch (const Cancelled&) {
      throw;
    } catch (const core::Error&) {
      if (i + 1 == source.mirrors.size()) throw;
    }
  }
}

}  // namespace

fs::path fetch_cifar10(const fs::path& destination, const FetchCallback& progress,
                       const FetchSource& source) {
  const fs::path target = destination / source.folder;
  if (cifar10_is_whole(target)) return target;
  check_target(target, "CIFAR-10");
  make_destination(destination);
  Reporter report(progress);
  PartFile part(destination / (archive_name(source.url) + ".part"));
  // Another process may have finished it between the first look and the lock.
  if (!cifar10_is_whole(target)) {
    check_target(target, "CIFAR-10");
    download_and_check(source, part, report);
    unpack_and_place(source, part, target, report);
  }
  part.remove();
  return target;
}

fs::path fetch_mnist(const fs::path& destination, const FetchCallback& progress, const MnistSource& source) {
  const fs::path target = destination / kMnistFolder;
  if (mnist_is_whole(target)) return target;
  check_target(target, "MNIST");
  make_destination(destination);
  std::vector<std::unique_ptr<PartFile>> parts;
  for (const MnistFile& file : source.files) {
    parts.push_back(std::make_unique<PartFile>(destination / (file.name + ".part")));
  }
  // Another process may have finished between the first look and the locks.
  if (mnist_is_whole(target)) return target;
  check_target(target, "MNIST");
  Reporter report(progress);
  for (const MnistFile& file : source.files) report.expect(file.bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    download_from_mirrors(source, source.files[i], *parts[i], report);
    report.finish(parts[i]->size());
  }
  const TemporaryFolder temporary(destination);
  const fs::path whole = temporary.path() / kMnistFolder;
  make_destination(whole);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sync_file(parts[i]->path());
    rename_to(parts[i]->path(), whole / source.files[i].name);
  }
  move_folder(whole, target);
  return target;
}

}  // namespace warpscope::data
