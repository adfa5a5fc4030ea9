#include "gpu/core/host_memory.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/core/temporary_folder.h"

namespace warpscope::core::host_memory_test {
namespace {

#if defined(WARPSCOPE_SANITIZES_ADDRESS) || defined(WARPSCOPE_SANITIZES_THREAD) || !defined(__GLIBC__)
constexpr bool kOwnAllocator = true;
#else
constexpr bool kOwnAllocator = false;
#endif

TEST(HostMemory, IsNoMoreThanTheMachineHas) {
  const auto all = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  const auto free = host_memory().free;
  ASSERT_TRUE(free.has_value());
  EXPECT_GT(*free, 0);
  EXPECT_LE(*free, all);
}

/// A machine with 1000 MiB free, of which a process has 100 MiB of addresses and 50 MiB of data.
class HostMemoryOf : public ::testing::Test {
 protected:
  HostMemoryOf() {
    write("proc/meminfo", "MemTotal:  2048000 kB\nMemFree:  1 kB\nMemAvailable:  1024000 kB\n");
    write("proc/self/status",
          "Name:\twarpscope\nVmPeak:\t999999 kB\nVmSize:\t  102400 kB\nVmData:\t   51200 kB\n");
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max data size             unlimited            unlimited            bytes     \n"
          "Max address space         unlimited            unlimited            bytes     \n");
    write("proc/self/cgroup", "0::/\n");
  }

  void write(const std::string& name, const std::string& text) { tests::write_text(folder_ / name, text); }
  HostMemory memory() const { return host_memory({folder_ / "proc", folder_ / "cgroup"}); }
  /// "MiB limit"
  std::string told() const {
    const HostMemory now = memory();
    return now.free ? std::to_string(*now.free >> 20) + " " + now.limit : "unknown";
  }

  tests::TemporaryFolder folder_;
};

TEST_F(HostMemoryOf, IsTheSystemsEstimateWithoutLimits) {
  EXPECT_EQ(told(), "1000 ");
  EXPECT_EQ(memory().text(), "1000.0 MiB of memory free");
  std::filesystem::remove_all(folder_ / "proc");
  EXPECT_EQ(told(), "unknown");
}

TEST_F(HostMemoryOf, EndsAtTheLimitsOfTheProcess) {
  write("proc/self/limits",
        "Max address space         314572800            unlimited            bytes     \n");
  EXPECT_EQ(told(), "200 the limit of the address space of 300.0 MiB (ulimit -v)");
  EXPECT_EQ(memory().text(),
            "200.0 MiB of memory free under the limit of the address space of 300.0 MiB (ulimit -v)");
  write("proc/self/limits",
        "Max data size             104857600            unlimited            bytes     \n"
        "Max address space         314572800            unlimited            bytes     \n");
  EXPECT_EQ(told(), "50 the limit of the data of 100.0 MiB (ulimit -d)");
  write("proc/self/limits", "Max address space         1048576            unlimited            bytes     \n");
  EXPECT_EQ(told(), "0 the limit of the address space of 1.0 MiB (ulimit -v)")
      << "there is more than that already";
}

TEST_F(HostMemoryOf, EndsAtTheLimitOfTheControlGroupAndOfThoseAboveIt) {
  write("proc/self/cgroup", "0::/user.slice/job 7/step\n");
  write("cgroup/user.slice/memory.max", "419430400\n");
  write("cgroup/user.slice/memory.current", "104857600\n");
  write("cgroup/user.slice/job 7/memory.max", "max\n");
  write("cgroup/user.slice/job 7/memory.current", "52428800\n");
  write("cgroup/user.slice/job 7/step/memory.max", "943718400\n");
  write("cgroup/user.slice/job 7/step/memory.current", "10485760\n");
  EXPECT_EQ(told(), "300 the limit of the control group /user.slice of 400.0 MiB (memory.max)");
  write("cgroup/user.slice/job 7/memory.max", "209715200\n");
  EXPECT_EQ(told(), "150 the limit of the control group /user.slice/job 7 of 200.0 MiB (memory.max)");
  write("cgroup/user.slice/job 7/step/memory.max", "104857600\n");
  EXPECT_EQ(told(), "90 the limit of the control group /user.slice/job 7/step of 100.0 MiB (memory.max)");
}

TEST_F(HostMemoryOf, CountsWhatTheSystemWouldDropOfAGroupsFilesAsFree) {
  write("cgroup/memory.max", "209715200\n");
  write("cgroup/memory.current", "199229440\n");
  write("cgroup/memory.stat", "anon 1048576\ninactive_anon 5\nactive_file 1\ninactive_file 104857600\n");
  EXPECT_EQ(told(), "110 the limit of the control group / of 200.0 MiB (memory.max)");
}

TEST_F(HostMemoryOf, KnowsTheFirstVersionOfControlGroups) {
  write("proc/self/cgroup", "9:name=systemd:/\n5:cpu,memory:/docker/ab/job\n0::/\n");
  write("cgroup/unified/cgroup.procs", "");
  // Seen from inside a container, which has no folder of the host's path.
  write("cgroup/memory/memory.limit_in_bytes", "314572800\n");
  write("cgroup/memory/memory.usage_in_bytes", "104857600\n");
  write("cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 10485760\n");
  EXPECT_EQ(told(), "210 the limit of the control group / of 300.0 MiB (memory.limit_in_bytes)");
  write("cgroup/memory/docker/ab/memory.limit_in_bytes", "9223372036854771712\n");
  write("cgroup/memory/docker/ab/memory.usage_in_bytes", "104857600\n");
  write("cgroup/memory/docker/ab/job/memory.limit_in_bytes", "125829120\n");
  write("cgroup/memory/docker/ab/job/memory.usage_in_bytes", "20971520\n");
  EXPECT_EQ(told(), "100 the limit of the control group /docker/ab/job of 120.0 MiB (memory.limit_in_bytes)");
  write("cgroup/memory/docker/ab/memory.limit_in_bytes", "188743680\n");
  EXPECT_EQ(told(), "80 the limit of the control group /docker/ab of 180.0 MiB (memory.limit_in_bytes)");
}

TEST_F(HostMemoryOf, KnowsTheLimitOfAGroupAboveThatIsNotToBeSeen) {
  write("proc/self/cgroup", "5:memory:/kubepods/pod/job\n");
  write("cgroup/memory/memory.limit_in_bytes", "314572800\n");
  write("cgroup/memory/memory.usage_in_bytes", "104857600\n");
  write("cgroup/memory/memory.stat", "hierarchical_memory_limit 209715200\ntotal_inactive_file 0\n");
  EXPECT_EQ(told(), "100 the limit of a control group above / of 200.0 MiB (hierarchical_memory_limit)");
}

TEST_F(HostMemoryOf, TakesPathsThatLeadOutOfWhatIsSeenForTheTop) {
  write("cgroup/memory.max", "209715200\n");
  write("cgroup/memory.current", "104857600\n");
  for (const char* line : {"0::/../../other\n", "0::\n", "0::/gone (deleted)\n"}) {
    write("proc/self/cgroup", line);
    EXPECT_EQ(told(), "100 the limit of the control group / of 200.0 MiB (memory.max)") << line;
  }
  for (const char* line : {"", "nonsense\n", "0:\n"}) {
    write("proc/self/cgroup", line);
    EXPECT_EQ(told(), "1000 ") << line;
  }
}

TEST(HostMemory, ThatRanOutIsToldWithTheLimitAndNotAsTheLibraryCallsIt) {
  EXPECT_EQ(sentence_of(std::runtime_error("x is no file")), "x is no file");
  const std::string memory = sentence_of(std::bad_alloc());
  EXPECT_TRUE(memory.starts_with("there is too little memory")) << memory;
  EXPECT_EQ(memory.find("bad_alloc"), std::string::npos) << memory;
  EXPECT_TRUE(memory.ends_with("; take a smaller network, batch or data set, or give it more")) << memory;
  EXPECT_TRUE(
      sentence_of(std::bad_alloc(), "list fewer runs").ends_with("; list fewer runs, or give it more"));
  EXPECT_TRUE(sentence_of(std::bad_alloc(), "").ends_with("; give it more"));
  const std::string need = need_sentence("the reference", 3 << 20);
  EXPECT_TRUE(need.starts_with("the reference needs 3.0 MiB, and there is too little memory")) << need;
  const std::string thread =
      sentence_of(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  EXPECT_TRUE(thread.starts_with("a thread could not be started")) << thread;
  if (kOwnAllocator) return;  // they take addresses without end
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{std::size_t{1} << 30, RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &limit);
    require_process_memory(1);
    EXPECT_THROW(require_process_memory(std::int64_t{1} << 30), std::bad_alloc);
    const bool named =
        !::testing::Test::HasFailure() &&
        sentence_of(std::bad_alloc())
                .find("under the limit of the address space of 1024.0 MiB (ulimit -v)") != std::string::npos;
    ::_exit(named ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// What this process has of the machine's memory.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  file >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(HostMemory, WhatAThreadFreedGoesBackThoughSomeOfItStays) {
  if (kOwnAllocator) GTEST_SKIP() << "this build has another allocator";
  constexpr std::size_t kBlock = 16 * 1024;
  constexpr std::size_t kBlocks = 4096;
  std::unique_ptr<char[]> last;
  std::thread([&] {
    std::vector<std::unique_ptr<char[]>> blocks(kBlocks);
    for (auto& block : blocks) {
      block = std::make_unique<char[]>(kBlock);
      std::memset(block.get(), 1, kBlock);
    }
    last = std::move(blocks.back());
  }).join();
  const std::int64_t kept = resident_bytes();
  return_freed_memory();
  const std::int64_t left = resident_bytes();
  EXPECT_GT(kept - left, static_cast<std::int64_t>(kBlock * kBlocks / 2));
  EXPECT_EQ(last[kBlock - 1], 1);
}

}  // namespace
}  // namespace warpscope::core::host_memory_test
