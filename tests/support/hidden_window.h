#pragma once
// A hidden window with an OpenGL 3.3 context, for tests that draw.

#ifndef GLFW_INCLUDE_NONE
#define GLFW_INCLUDE_NONE  // glad declares OpenGL
#endif
#include <cstdlib>
#include <string>

#include <GLFW/glfw3.h>
#include <glad/gl.h>

namespace warpscope::tests {

class HiddenWindow {
 public:
  HiddenWindow() {
    if (!glfw_starts()) {
      missing_ = "no display";
      return;
    }
    glfwDefaultWindowHints();  // not those of the test before
    glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    window_ = glfwCreateWindow(64, 64, "test", nullptr, nullptr);
    if (window_ == nullptr) {
      missing_ = "no OpenGL 3.3";
      return;
    }
    glfwMakeContextCurrent(window_);
    if (gladLoadGL(glfwGetProcAddress) == 0) missing_ = "no functions of OpenGL 3.3";
  }
  ~HiddenWindow() {
    if (window_ != nullptr) glfwDestroyWindow(window_);
  }
  HiddenWindow(const HiddenWindow&) = delete;
  HiddenWindow& operator=(const HiddenWindow&) = delete;

  GLFWwindow* handle() const { return window_; }
  /// Why there is none; "" if there is.
  const std::string& missing() const { return missing_; }
  /// Nothing may be missing on a display that was started for tests (support/under_xvfb.py).
  static bool must_be_there() { return std::getenv("WARPSCOPE_OWN_DISPLAY") != nullptr; }

 private:
  // Once for all tests: an X server for tests may start anew when its last client leaves, and refuse the
  // next.
  static bool glfw_starts() {
    static const bool started = glfwInit() == GLFW_TRUE;
    return started;
  }

  GLFWwindow* window_ = nullptr;
  std::string missing_;
};

}  // namespace warpscope::tests
