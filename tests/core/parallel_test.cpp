#include "gpu/core/parallel.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::core::parallel_test {
namespace {

TEST(ParallelFor, CoversEveryElementOnce) {
  for (const int threads : {0, 1, 2, 5}) {
    for (const std::int64_t count : {0, 1, 9, 10, 11, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      parallel_for(count, 10, threads, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_LE(end - begin, 10);
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& visit : visits)
        ASSERT_EQ(visit.load(), 1) << count << " elements, " << threads << " threads";
    }
  }
}

TEST(ParallelFor, RethrowsTheErrorOfTheLowestPiece) {
  for (const int threads : {1, 2, 4}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const auto body = [](std::int64_t begin, std::int64_t) {
        if (begin >= 7) throw std::runtime_error(std::to_string(begin));
      };
      try {
        parallel_for(100, 1, threads, body);
        FAIL() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        ASSERT_STREQ(error.what(), "7");
      }
    }
  }
}

}  // namespace
}  // namespace warpscope::core::parallel_test
