#include "ui/software_drawing.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace warpscope::ui {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

TEST(SoftwareDrawing, ChoosesMesaAndKeepsWhatTheEnvironmentSays) {
  setenv("LP_NUM_THREADS", "7", 1);
  unsetenv("__GLX_VENDOR_LIBRARY_NAME");
  unsetenv("LIBGL_ALWAYS_SOFTWARE");
  draw_by_cpu();
  EXPECT_EQ(variable("__GLX_VENDOR_LIBRARY_NAME"), "mesa");
  EXPECT_EQ(variable("LIBGL_ALWAYS_SOFTWARE"), "1");
  EXPECT_EQ(variable("LP_NUM_THREADS"), "7");
}

}  // namespace
}  // namespace warpscope::ui
