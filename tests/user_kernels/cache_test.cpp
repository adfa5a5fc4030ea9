// The cache of compiled kernels is bounded, also where several processes use it.

#include "gpu/user_kernels/cache.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace warpscope::user_kernels::cache_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

constexpr const char* kOne = "00112233445566778899aabbccddeeff";
constexpr const char* kTwo = "ffeeddccbbaa99887766554433221100";

class KernelCache : public testing::Test {
 protected:
  KernelCache() : folder_(fs::path(testing::TempDir()) / fmt::format("kernel_cache_{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~KernelCache() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// A file of 100 bytes that was used so long ago.
  fs::path used(const std::string& name, hours ago) const {
    std::ofstream(folder_ / name) << std::string(100, 'x');
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - ago);
    return folder_ / name;
  }

  fs::path folder_;
};

TEST_F(KernelCache, LosesWhatNobodyHasUsedForLong) {
  const fs::path old_code = used(fmt::format("{}-0011.so", kOne), hours(24 * 40));
  const fs::path old_note = used(fmt::format("{}.made", kOne), hours(24 * 40));
  const fs::path old_told = used("checked-0011", hours(24 * 40));
  const fs::path old_scratch = used(fmt::format(".{}.made.1-2.tmp", kOne), hours(24 * 40));
  const fs::path code = used(fmt::format("{}.cubin", kTwo), hours(24 * 20));
  for (const char* version : {"include-old", "include-new"}) {
    fs::create_directories(folder_ / version / "warpscope");
    used(fmt::format("{}/warpscope/kernel.h", version), hours(24 * 90));
    used(fmt::format("{}/complete", version), hours(version == std::string("include-old") ? 24 * 40 : 1));
  }
  const fs::path mine = used("mine.cpp", hours(24 * 90));
  const fs::path short_name = used("0011", hours(24 * 90));
  prune(folder_);
  for (const fs::path& gone : {old_code, old_note, old_told, old_scratch, folder_ / "include-old"})
    EXPECT_FALSE(fs::exists(gone)) << gone;
  for (const fs::path& there : {code, mine, short_name, folder_ / "include-new/warpscope/kernel.h"})
    EXPECT_TRUE(fs::exists(there)) << there;
}

TEST_F(KernelCache, LosesWhatWasUsedLongestAgoWhereItIsTooLargeButNothingOfToday) {
  const fs::path oldest = used(fmt::format("{}-1.so", kOne), hours(24 * 9));
  const fs::path older = used(fmt::format("{}-2.so", kOne), hours(24 * 8));
  const fs::path old = used(fmt::format("{}-3.so", kOne), hours(24 * 7));
  const fs::path today = used(fmt::format("{}-4.so", kOne), hours(1));
  const CacheLimits limits{.bytes = 250};
  prune(folder_, limits);
  EXPECT_FALSE(fs::exists(oldest));
  EXPECT_FALSE(fs::exists(older));
  EXPECT_TRUE(fs::exists(old));
  EXPECT_TRUE(fs::exists(today));
  prune(folder_, {.bytes = 0});
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(today)) << "another process may be about to load it";
}

TEST_F(KernelCache, IsNotPrunedWhileSomebodyLooksForSomethingInIt) {
  const fs::path code = used(fmt::format("{}-1.so", kOne), hours(24 * 40));
  {
    const CacheUse one(folder_);
    const CacheUse other(folder_);
    prune(folder_);
    EXPECT_TRUE(fs::exists(code));
    CacheUse::note(code);
  }
  prune(folder_);
  EXPECT_TRUE(fs::exists(code)) << "it was used just now";
  fs::last_write_time(code, fs::file_time_type::clock::now() - hours(24 * 40));
  prune(folder_);
  EXPECT_FALSE(fs::exists(code));
}

TEST_F(KernelCache, ThatIsNotThereIsLeftAlone) {
  prune(folder_ / "nowhere");
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
}

}  // namespace
}  // namespace warpscope::user_kernels::cache_test
