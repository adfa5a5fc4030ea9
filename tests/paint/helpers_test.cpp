#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/waiting.h"
#include "ui/paint/painter.h"

namespace warpscope::ui::paint::helpers_test {
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
  std::condition_variable another;
  helpers.run(60, [&](std::size_t) {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    another.notify_all();
    // No thread ends its first piece before the others have begun theirs.
    another.wait_for(lock, std::chrono::duration<double>(tests::kPatience),
                     [&] { return threads.size() == 3; });
  });
  EXPECT_EQ(threads.size(), 3u);
}

}  // namespace
}  // namespace warpscope::ui::paint::helpers_test
