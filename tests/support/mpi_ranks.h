#pragma once
// Ranks that mpirun starts: a test starts itself again under it, and what all ranks do is its body.

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/ranks/mpi_meeting.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::ranks {

inline constexpr const char* kInside = "WARPSCOPE_TEST_IS_A_RANK";

inline void add_options(const char* name, const std::string& options) {
  const char* before = std::getenv(name);
  ::setenv(name, ((before != nullptr ? std::string(before) + ":" : "") + options).c_str(), 1);
}

/// A program that runs beside the test and ends with it.
class Program {
 public:
  explicit Program(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      ::setenv(kInside, "1", 1);
      /// Jobs that begin at once make the same folder elsewhere, and one of them fails.
      ::setenv("OMPI_MCA_orte_tmpdir_base", session_.path().c_str(), 1);
      /// What MPI's own libraries leak and lock is not for the sanitizers.
      add_options("ASAN_OPTIONS", "detect_leaks=0");
      add_options("TSAN_OPTIONS", "ignore_noninstrumented_modules=1:detect_deadlocks=0");
      const int nothing = ::open("/dev/null", O_RDONLY);
      ::dup2(nothing, STDIN_FILENO);
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      ::execvp(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Program() {
    if (output_ != nullptr) std::fclose(output_);
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t process() const { return process_; }

  /// The next line of what it writes, with what it has written before in text().
  bool read_line(std::string& line) {
    line.clear();
    for (int letter = std::fgetc(output_); letter != EOF; letter = std::fgetc(output_)) {
      text_ += static_cast<char>(letter);
      if (letter == '\n') return true;
      line += static_cast<char>(letter);
    }
    return !line.empty();
  }
  const std::string& text() const { return text_; }

  /// Its exit code, or minus the signal, once it has closed its output.
  int wait() {
    std::string line;
    while (read_line(line)) {
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  tests::TemporaryFolder session_;
  pid_t process_ = 0;
  std::FILE* output_ = nullptr;
  std::string text_;
};

inline const std::string& version_of_mpirun() {
  static const std::string version = [] {
    Program program({"mpirun", "--version"});
    return program.wait() == 0 ? program.text() : std::string();
  }();
  return version;
}

inline bool inside() {
  return std::getenv(kInside) != nullptr;
}

/// The words that start the test that is running as so many ranks. WARPSCOPE_TEST_MPIRUN adds some ("--mca btl
/// tcp,self").
inline std::vector<std::string> under_mpirun(int ranks) {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks)};
  if (version_of_mpirun().find("Open MPI") != std::string::npos) {
    for (const char* word : {"--oversubscribe", "--allow-run-as-root", "--bind-to", "none"})
      words.emplace_back(word);
  }
  const char* more = std::getenv("WARPSCOPE_TEST_MPIRUN");
  std::istringstream extra(more != nullptr ? more : "");
  for (std::string word; extra >> word;) words.push_back(word);
  std::array<char, 4096> path{};
  const auto length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  words.emplace_back(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  words.push_back(std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name());
  return words;
}

/// Outside it skips where there is no mpirun.
class MpiRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (!inside() && version_of_mpirun().empty()) GTEST_SKIP() << "mpirun is not on this machine";
  }

  /// All ranks do this and end with exit code 0.
  void all_do(const std::function<void(Meeting&)>& work, std::size_t piece = std::size_t{1} << 30) {
    if (inside()) return work(*meet_by_mpi({.piece = piece}));
    Program job(under_mpirun(4));
    EXPECT_EQ(job.wait(), 0) << job.text();
  }

  /// They do not end with exit code 0. Returns what the launcher gave and what all wrote; empty inside.
  std::pair<int, std::string> ends_badly(const std::function<void(Meeting&)>& work) {
    if (inside()) {
      work(*meet_by_mpi());
      return {};
    }
    Program job(under_mpirun(4));
    const int code = job.wait();
    EXPECT_NE(code, 0) << job.text();
    return {code, job.text()};
  }
};

/// The process of each rank.
inline std::vector<pid_t> processes(Group& group) {
  const pid_t own = ::getpid();
  std::vector<pid_t> all(static_cast<std::size_t>(group.place().size));
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

/// Returns once it stands still.
inline void wait_until_stopped(pid_t process) {
  for (;;) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string stat;
    std::getline(file, stat);
    if (stat.find(") T ") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool holds(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace warpscope::ranks
