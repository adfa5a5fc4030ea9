#include "ui/software_drawing.h"

#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace warpscope::ui {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

TEST(SoftwareDrawing, TakesAQuarterOfTheCoresButFourAtTheMost) {
  EXPECT_EQ(drawing_threads(0), 1) << "an unknown number";
  EXPECT_EQ(drawing_threads(2), 1);
  EXPECT_EQ(drawing_threads(8), 2);
  EXPECT_EQ(drawing_threads(16), 4);
  EXPECT_EQ(drawing_threads(128), 4);
}

TEST(SoftwareDrawing, ChoosesMesaAndAFewThreads) {
  for (const char* name : {"__GLX_VENDOR_LIBRARY_NAME", "LIBGL_ALWAYS_SOFTWARE", "LP_NUM_THREADS"})
    unsetenv(name);
  draw_by_cpu();
  limit_drawing_threads();
  EXPECT_EQ(variable("__GLX_VENDOR_LIBRARY_NAME"), "mesa");
  EXPECT_EQ(variable("LIBGL_ALWAYS_SOFTWARE"), "1");
  EXPECT_EQ(variable("LP_NUM_THREADS"), std::to_string(drawing_threads(std::thread::hardware_concurrency())));
}

TEST(SoftwareDrawing, KeepsWhatTheEnvironmentSays) {
  setenv("__GLX_VENDOR_LIBRARY_NAME", "other", 1);
  setenv("LP_NUM_THREADS", "7", 1);
  draw_by_cpu();
  limit_drawing_threads();
  EXPECT_EQ(variable("__GLX_VENDOR_LIBRARY_NAME"), "other");
  EXPECT_EQ(variable("LP_NUM_THREADS"), "7");
}

}  // namespace
}  // namespace warpscope::ui
