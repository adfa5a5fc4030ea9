#pragma once
// Key presses and other signs of a person, from GLFW's callbacks.

#include <string>
#include <vector>

struct GLFWwindow;

namespace warpscope::ui {

struct KeyPress {
  int key = 0;      ///< GLFW_KEY_...
  char letter = 0;  ///< what the keyboard's layout has there, in lower case; 0 if no letter or digit
  bool control = false;
  bool shift = false;
};

/// Collects what happens in a window. Make it before Dear ImGui's back end, whose callbacks call the ones
/// they replace, and destroy it after.
class InputWatch {
 public:
  explicit InputWatch(GLFWwindow* window);
  ~InputWatch();
  InputWatch(const InputWatch&) = delete;
  InputWatch& operator=(const InputWatch&) = delete;

  /// Keys pressed since the last call.
  std::vector<KeyPress> take_keys();
  /// Before ImGui's NewFrame: makes keys that were pressed and let go between two frames known to Dear ImGui,
  /// which before 1.87 sees only what is down at a frame.
  void forward_taps();
  /// Paths of files and folders that were dropped on the window since the last call.
  std::vector<std::string> take_dropped();
  /// True if anything happened since the last call: keys, mouse, resize, exposure.
  bool take_activity();

 private:
  static InputWatch* of(GLFWwindow* window);
  void press(int key, int mods);
  /// The same of Ctrl, Shift and Alt, which it keeps apart.
  void forward_modifiers();

  GLFWwindow* window_;
  std::vector<KeyPress> keys_;
  std::vector<std::string> dropped_;
  std::vector<int> pressed_;    // since the frame before
  std::vector<int> forwarded_;  // held down for Dear ImGui during one frame
  bool activity_ = true;
};

}  // namespace warpscope::ui
