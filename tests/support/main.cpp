// The main of all tests. A filter that matches nothing is a mistake in the filter, not a success. `--part=2/12` runs
// every twelfth test, from the second on: a process for many tests where starting one takes as long as most of them. It
// is no variable of the environment, since tests start the program again, each for one of its tests.

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace {

/// A filter of those tests.
std::string filter_of_part(int part, int parts) {
  const auto* all = testing::UnitTest::GetInstance();
  std::string names;
  int at = 0;
  for (int i = 0; i < all->total_test_suite_count(); ++i) {
    const testing::TestSuite* suite = all->GetTestSuite(i);
    for (int j = 0; j < suite->total_test_count(); ++j) {
      if (++at % parts != part % parts) continue;
      names += std::string(names.empty() ? "" : ":") + suite->name() + "." + suite->GetTestInfo(j)->name();
    }
  }
  return names;
}

}  // namespace

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  int part = 0, parts = 0;
  if (GTEST_FLAG_GET(filter) == "*" && count == 2 &&
      std::sscanf(words[1], "--part=%d/%d", &part, &parts) == 2 && parts > 0) {
    GTEST_FLAG_SET(filter, filter_of_part(part, parts));
  }
  const int code = RUN_ALL_TESTS();
  if (GTEST_FLAG_GET(list_tests) || testing::UnitTest::GetInstance()->test_to_run_count() > 0) return code;
  std::fprintf(stderr, "no test matches --gtest_filter=%s\n", GTEST_FLAG_GET(filter).c_str());
  return 1;
}
