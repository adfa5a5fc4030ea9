#include "ui/frame/gl_context.h"

#include <fmt/format.h>
#include <glad/gl.h>
// glad first: it stands in for the system's OpenGL header.
#include <algorithm>

#include <GLFW/glfw3.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "ui/frame/window.h"
#include "ui/plot/picture.h"

namespace warpscope::ui {
namespace {

std::string last_glfw_error() {
  const char* text = nullptr;
  if (glfwGetError(&text) == GLFW_NO_ERROR || text == nullptr) return "no reason given";
  return text;
}

// A size that fits the first monitor: 1600 x 1000 design pixels where there is room, the whole work area
// elsewhere.
void choose_size(WindowPlacement& placement) {
  int x = 0, y = 0, width = 1600, height = 1000;
  float scale = 1, ignored = 1;
  if (GLFWmonitor* const monitor = glfwGetPrimaryMonitor()) {
    glfwGetMonitorWorkarea(monitor, &x, &y, &width, &height);
    glfwGetMonitorContentScale(monitor, &scale, &ignored);
  }
  if (placement.width <= 0) placement.width = std::min(width, static_cast<int>(1600 * scale));
  if (placement.height <= 0) placement.height = std::min(height, static_cast<int>(1000 * scale));
}

}  // namespace

WindowSystem::WindowSystem() {
  if (glfwInit() != GLFW_TRUE) {
    throw NoDisplay(fmt::format(
        "cannot open a window: no display ({}); set DISPLAY or WAYLAND_DISPLAY, or train without a window",
        last_glfw_error()));
  }
}

WindowSystem::~WindowSystem() {
  glfwTerminate();
}

GlWindow::GlWindow(const char* title, const WindowPlacement& wanted) {
  WindowPlacement placement = wanted;
  choose_size(placement);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "warpscope");
  glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "warpscope");
  window_ = glfwCreateWindow(placement.width, placement.height, title, nullptr, nullptr);
  if (window_ == nullptr) {
    throw core::Error(fmt::format(
        "cannot open a window with OpenGL 3.3 ({}); update the graphics driver, or train without a window",
        last_glfw_error()));
  }
  glfwMakeContextCurrent(window_);
  if (gladLoadGL(glfwGetProcAddress) == 0) {
    glfwDestroyWindow(window_);
    throw core::Error("cannot load the OpenGL 3.3 functions; update the graphics driver");
  }
  glfwSwapInterval(1);
  glfwSetWindowSizeLimits(window_, 640, 400, GLFW_DONT_CARE, GLFW_DONT_CARE);
  if (placement.has_position) glfwSetWindowPos(window_, placement.x, placement.y);
  if (placement.maximized) glfwMaximizeWindow(window_);
  glfwShowWindow(window_);
}

GlWindow::~GlWindow() {
  glfwDestroyWindow(window_);
}

WindowPlacement GlWindow::placement() const {
  WindowPlacement placement;
  glfwGetWindowSize(window_, &placement.width, &placement.height);
  glfwGetWindowPos(window_, &placement.x, &placement.y);
  placement.has_position = true;
  placement.maximized = glfwGetWindowAttrib(window_, GLFW_MAXIMIZED) == GLFW_TRUE;
  return placement;
}

float GlWindow::density() const {
  int width = 0, height = 0;
  glfwGetWindowSize(window_, &width, &height);
  return width > 0 && framebuffer_width() > 0
             ? static_cast<float>(framebuffer_width()) / static_cast<float>(width)
             : 1.0f;
}

float GlWindow::scale(float density) const {
  float x = 1, y = 1;
  glfwGetWindowContentScale(window_, &x, &y);
  return std::clamp(x / density, 0.5f, 4.0f);
}

int GlWindow::framebuffer_width() const {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  return width;
}

int GlWindow::framebuffer_height() const {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  return height;
}

std::string GlWindow::renderer() const {
  const auto text = [](GLenum name) {
    const auto* const value = reinterpret_cast<const char*>(glGetString(name));
    return std::string(value == nullptr ? "unknown" : value);
  };
  return fmt::format("{}, OpenGL {}", text(GL_RENDERER), text(GL_VERSION));
}

void write_screenshot(const GlWindow& window, const std::filesystem::path& file) {
  const int width = window.framebuffer_width(), height = window.framebuffer_height();
  plot::Picture picture{width, height, {}};
  picture.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadBuffer(GL_BACK);
  glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, picture.pixels.data());
  // OpenGL's first row is the lowest.
  const std::ptrdiff_t row = std::ptrdiff_t{3} * width;
  for (std::ptrdiff_t top = 0, bottom = height - 1; top < bottom; ++top, --bottom) {
    const auto first = picture.pixels.begin() + top * row;
    std::swap_ranges(first, first + row, picture.pixels.begin() + bottom * row);
  }
  files::write_file_atomically(file, plot::encode_png(picture));
}

void write_screenshot(const paint::Picture& painted, const std::filesystem::path& file) {
  files::write_file_atomically(file, plot::encode_png(plot::rgb_of(painted)));
}

}  // namespace warpscope::ui
