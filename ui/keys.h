#pragma once
// Key presses and other signs of a person, from GLFW's callbacks.

#include <vector>

struct GLFWwindow;

namespace warpscope::ui {

struct KeyPress {
  int key = 0;      ///< GLFW_KEY_...
  char letter = 0;  ///< what the keyboard's layout has there, in lower case; 0 if no letter or digit
  bool control = false;
};

/// Collects what happens in a window. Make it before Dear ImGui's back end, whose callbacks call the ones they replace,
/// and destroy it after.
class InputWatch {
 public:
  explicit InputWatch(GLFWwindow* window);
  ~InputWatch();
  InputWatch(const InputWatch&) = delete;
  InputWatch& operator=(const InputWatch&) = delete;

  /// Keys pressed since the last call.
  std::vector<KeyPress> take_keys();
  /// True if anything happened since the last call: keys, mouse, resize, exposure.
  bool take_activity();

 private:
  static InputWatch* of(GLFWwindow* window);

  GLFWwindow* window_;
  std::vector<KeyPress> keys_;
  bool activity_ = true;
};

}  // namespace warpscope::ui
