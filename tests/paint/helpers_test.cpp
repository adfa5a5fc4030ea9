#include "ui/paint/helpers.h"

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::paint {
namespace {

TEST(Helpers, EachPieceIsDoneOnceAndAllBeforeRunReturns) {
  for (const unsigned threads : {0u, 1u, 3u}) {
    Helpers helpers(threads);
    for (std::size_t round = 0; round < 2000; ++round) {
      const std::size_t count = round % 37;
      std::vector<int> done(count);  // not atomic: no two threads may have one piece
      helpers.run(count, [&](std::size_t i) { ++done[i]; });
      ASSERT_EQ(done, std::vector<int>(count, 1)) << threads << " threads, round " << round;
    }
  }
}

TEST(Helpers, OtherThreadsHelp) {
  Helpers helpers(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  helpers.run(60, [&](std::size_t) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  EXPECT_EQ(threads.size(), 3u);
}

}  // namespace
}  // namespace warpscope::ui::paint
