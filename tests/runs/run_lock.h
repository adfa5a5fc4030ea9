#pragma once

#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

namespace warpscope::tests {

/// The lock that a training process holds.
class Lock {
 public:
  explicit Lock(const std::filesystem::path& folder)
      : file_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    EXPECT_EQ(::flock(file_, LOCK_EX | LOCK_NB), 0);
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

}  // namespace warpscope::tests
