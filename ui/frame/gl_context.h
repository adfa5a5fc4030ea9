#pragma once
// The window of the operating system and its OpenGL 3.3 core context.

#include <filesystem>
#include <string>

#include "ui/paint/picture.h"

struct GLFWwindow;

namespace warpscope::ui {

/// Starts GLFW. Throws NoDisplay (window.h) that says why there is none. Ends it with the object.
class WindowSystem {
 public:
  WindowSystem();
  ~WindowSystem();
  WindowSystem(const WindowSystem&) = delete;
  WindowSystem& operator=(const WindowSystem&) = delete;
};

/// Where and how large a window opens. Without a size it takes most of the first monitor; without a position
/// the system places it.
struct WindowPlacement {
  int width = 0;
  int height = 0;
  int x = 0;
  int y = 0;
  bool has_position = false;
  bool maximized = false;
};

/// A window with its context, current in the calling thread; swaps wait for the monitor.
class GlWindow {
 public:
  /// Throws core::Error that says what the system refused.
  GlWindow(const char* title, const WindowPlacement& wanted);
  ~GlWindow();
  GlWindow(const GlWindow&) = delete;
  GlWindow& operator=(const GlWindow&) = delete;

  GLFWwindow* handle() const { return window_; }
  /// Where it is now. A maximised window keeps the size it had before, as far as the system tells.
  WindowPlacement placement() const;
  /// Pixels of the window per design pixel, from the monitor's content scale; `density`: as density() gives
  /// it.
  float scale(float density) const;
  /// Pixels of the framebuffer per pixel of the window.
  float density() const;
  int framebuffer_width() const;
  int framebuffer_height() const;
  /// "Mesa llvmpipe ..., OpenGL 4.5"
  std::string renderer() const;

 private:
  GLFWwindow* window_ = nullptr;
};

/// Writes the back buffer as a PNG atomically (temporary name, then rename). Throws core::Error
/// that names the file.
void write_screenshot(const GlWindow& window, const std::filesystem::path& file);
/// Writes a picture that the CPU painted as a PNG, atomically. Throws core::Error that names the file.
void write_screenshot(const paint::Picture& painted, const std::filesystem::path& file);

}  // namespace warpscope::ui
