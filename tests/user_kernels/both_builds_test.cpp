// The checked build and the fast one, made side by side of anything.

#include "gpu/user_kernels/both_builds.h"

#include <future>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/core/error.h"

namespace warpscope::user_kernels::both_builds_test {
namespace {

Build code(const char* name, bool cached) {
  return {name, {}, cached};
}

Build failed(const char* text) {
  return {{}, {{"mine.cpp", 1, 1, text, ""}}, false};
}

TEST(BothBuilds, AreCachedOnlyIfBothAre) {
  for (const bool fast : {false, true}) {
    for (const bool checked : {false, true}) {
      const Compilation made = make_both(
          [&](bool is_checked) { return is_checked ? code("checked", checked) : code("fast", fast); });
      EXPECT_EQ(made.fast, "fast");
      EXPECT_EQ(made.checked, "checked");
      EXPECT_TRUE(made.errors.empty());
      EXPECT_EQ(made.cached, fast && checked);
      EXPECT_GE(made.milliseconds, 0.0);
    }
  }
}

TEST(BothBuilds, AreMadeAtTheSameTime) {
  std::promise<void> fast_begun;
  std::promise<void> checked_begun;
  const Compilation made = make_both([&](bool checked) {
    (checked ? checked_begun : fast_begun).set_value();
    (checked ? fast_begun : checked_begun).get_future().wait();
    return code("code", false);
  });
  EXPECT_TRUE(made.errors.empty());
}

TEST(BothBuilds, WithErrorsHaveNoCodeAndTellThoseOfTheFastOneFirst) {
  const auto made_of = [](bool fast_fails, bool checked_fails) {
    return make_both([=](bool checked) {
      if (checked) return checked_fails ? failed("of the checked build") : code("checked", true);
      return fast_fails ? failed("of the fast build") : code("fast", true);
    });
  };
  for (const auto& [fast, checked] :
       {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
    const Compilation made = made_of(fast, checked);
    ASSERT_EQ(made.errors.size(), 1u);
    EXPECT_EQ(made.errors[0].message, fast ? "of the fast build" : "of the checked build");
    EXPECT_TRUE(made.fast.empty() && made.checked.empty());
    EXPECT_FALSE(made.cached);
  }
}

TEST(BothBuilds, ThrowWhatOneThrowsOnceTheOtherIsDone) {
  for (const bool checked_throws : {false, true}) {
    std::promise<void> thrown;
    bool ended = false;
    const auto build = [&](bool checked) -> Build {
      if (checked == checked_throws) {
        thrown.set_value();
        throw core::Error("the disk is full");
      }
      thrown.get_future().wait();
      ended = true;
      return code("code", false);
    };
    EXPECT_THROW(make_both(build), core::Error);
    EXPECT_TRUE(ended);
  }
}

}  // namespace
}  // namespace warpscope::user_kernels::both_builds_test
