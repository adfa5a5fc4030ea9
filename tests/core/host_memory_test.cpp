#include "gpu/core/host_memory.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace warpscope::core {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
constexpr bool kOwnAllocator = true;
#else
constexpr bool kOwnAllocator = false;
#endif

TEST(HostMemory, IsNoMoreThanTheMachineHas) {
  const auto all = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  EXPECT_GT(free_host_memory(), 0);
  EXPECT_LE(free_host_memory(), all);
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
}  // namespace warpscope::core
