#include "ui/frame/software_drawing.h"

#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace warpscope::ui::software_drawing_test {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

TEST(SoftwareDrawing, TakesHalfOfTheCoresFromTwoToFour) {
  EXPECT_EQ(drawing_threads(0), 2) << "an unknown number";
  EXPECT_EQ(drawing_threads(1), 1);
  EXPECT_EQ(drawing_threads(2), 2);
  EXPECT_EQ(drawing_threads(4), 2);
  EXPECT_EQ(drawing_threads(6), 3);
  EXPECT_EQ(drawing_threads(8), 4);
  EXPECT_EQ(drawing_threads(16), 4);
  EXPECT_EQ(drawing_threads(128), 4);
}

TEST(SoftwareDrawing, ChoosesMesaWhateverTheEnvironmentSays) {
  setenv("__GLX_VENDOR_LIBRARY_NAME", "other", 1);
  unsetenv("LIBGL_ALWAYS_SOFTWARE");
  draw_by_cpu();
  EXPECT_EQ(variable("__GLX_VENDOR_LIBRARY_NAME"), "mesa");
  EXPECT_EQ(variable("LIBGL_ALWAYS_SOFTWARE"), "1");
}

TEST(SoftwareDrawing, TakesAsManyThreadsAsTheEnvironmentSaysOrAFew) {
  unsetenv("LP_NUM_THREADS");
  limit_drawing_threads();
  EXPECT_EQ(variable("LP_NUM_THREADS"), std::to_string(drawing_threads(std::thread::hardware_concurrency())));
  setenv("LP_NUM_THREADS", "7", 1);
  limit_drawing_threads();
  EXPECT_EQ(variable("LP_NUM_THREADS"), "7");
}

}  // namespace
}  // namespace warpscope::ui::software_drawing_test
