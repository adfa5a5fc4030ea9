#pragma once
// What tests of files need: a folder of their own, whole files as text, a small disk that fills up, a limit
// on files.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

namespace warpscope::tests {

/// A new folder, removed with all it holds at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "warpscope-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// A memory disk of `bytes` mounted in a temporary folder, seen only by this process. mounted() is false
/// where the process may not mount.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t bytes) {
    // In a mount namespace of its own, the disk goes when the process ends, however it ends.
    static const bool own_mounts =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    const std::string options = "size=" + std::to_string(bytes);
    mounted_ = own_mounts && ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

/// No file may grow beyond `bytes` while it lives: writing fails as on a full disk, but needs no rights.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

/// While it lives, the process has the rights of an ordinary user, even if root runs the tests: permissions
/// count.
class OrdinaryUser {
 public:
  OrdinaryUser() : root_(::geteuid() == 0) {
    if (root_ && ::seteuid(65'534) != 0) throw std::runtime_error("seteuid failed");
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
  ~OrdinaryUser() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool root_;
};

/// Sets an environment variable (nullptr: unsets it), and puts it back at the end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      had_ = true;
      old_ = old;
    }
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(had_ ? old_.c_str() : nullptr); }

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      ::setenv(name_, value, 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::string old_;
  bool had_ = false;
};

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Changes bytes of a file where they stand. Writing it anew for each would wait for the disk each time.
class FilePatch {
 public:
  explicit FilePatch(const std::filesystem::path& path)
      : file_(path, std::ios::binary | std::ios::in | std::ios::out) {}
  void put(std::size_t at, char byte) {
    file_.seekp(static_cast<std::streamoff>(at));
    if (!file_.put(byte).flush()) throw std::runtime_error("a byte cannot be written");
  }

 private:
  std::fstream file_;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The number of entries in a folder, hidden ones too.
inline std::ptrdiff_t count_entries(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

/// The message of the `Expected` that `call` throws; a test failure and "" if it throws nothing or something
/// else.
template <class Expected, class Call>
std::string message_of(Call&& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error was thrown: " << error.what();
  }
  return {};
}

/// True if `text` holds all of `parts`.
inline testing::AssertionResult holds(const std::string& text,
                                      std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (text.find(part) == std::string::npos)
      return testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
  }
  return testing::AssertionSuccess();
}

}  // namespace warpscope::tests
