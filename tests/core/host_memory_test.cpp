#include "gpu/core/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace warpscope::core {
namespace {

TEST(HostMemory, IsNoMoreThanTheMachineHas) {
  const auto all = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  EXPECT_GT(free_host_memory(), 0);
  EXPECT_LE(free_host_memory(), all);
}

}  // namespace
}  // namespace warpscope::core
