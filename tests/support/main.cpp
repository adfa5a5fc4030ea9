// The main of all tests. A filter that matches nothing is a mistake in the filter, not a success.

#include <cstdio>

#include <gtest/gtest.h>

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  const int code = RUN_ALL_TESTS();
  if (GTEST_FLAG_GET(list_tests) || testing::UnitTest::GetInstance()->test_to_run_count() > 0) return code;
  std::fprintf(stderr, "no test matches --gtest_filter=%s\n", GTEST_FLAG_GET(filter).c_str());
  return 1;
}
