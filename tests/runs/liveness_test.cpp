#include <chrono>

#include <gtest/gtest.h>

#include "gpu/runs/run_view.h"
#include "tests/core/temporary_folder.h"
#include "tests/runs/run_lock.h"

namespace warpscope::runs::liveness_test {
namespace {

using namespace std::chrono_literals;
using tests::Lock;
using Clock = Liveness::Clock;

TEST(Liveness, TheEndOfARunThatIsGoneOnWithIsKnownByItsLock) {
  const tests::TemporaryFolder run;
  const Clock::time_point begin = Clock::now();
  Liveness liveness;
  EXPECT_FALSE(liveness.alive(run.path(), false, begin));
  {
    const Lock lock(run.path());
    EXPECT_TRUE(liveness.alive(run.path(), true, begin + 1s));
  }
  EXPECT_TRUE(liveness.alive(run.path(), false, begin + 3s)) << "it may only be slow";
  EXPECT_FALSE(liveness.alive(run.path(), false, begin + 5s));
}

TEST(Liveness, WhereLocksAreNotSeenALongSilenceTells) {
  const tests::TemporaryFolder run;
  const Clock::time_point begin = Clock::now();
  Liveness liveness;
  EXPECT_FALSE(liveness.alive(run.path(), false, begin));
  EXPECT_TRUE(liveness.alive(run.path(), true, begin + 1s));
  EXPECT_TRUE(liveness.alive(run.path(), false, begin + 5s));
  EXPECT_TRUE(liveness.alive(run.path(), false, begin + 12s));
  EXPECT_FALSE(liveness.alive(run.path(), false, begin + 14s));
}

}  // namespace
}  // namespace warpscope::runs::liveness_test
