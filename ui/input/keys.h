#pragma once
// What a person does in a window, from GLFW's callbacks.

#include <string>
#include <utility>
#include <vector>

#include "ui/input/input_queue.h"

struct GLFWwindow;

namespace warpscope::ui {

/// Collects what happens in a window. Make it before Dear ImGui's back end, whose callbacks call the ones
/// they replace, and destroy it after.
class InputWatch {
 public:
  explicit InputWatch(GLFWwindow* window);
  ~InputWatch();
  InputWatch(const InputWatch&) = delete;
  InputWatch& operator=(const InputWatch&) = delete;

  /// Keys of one kind, as GLFW numbers them.
  struct KeyPair {
    int left, right;
  };

  /// Keys that the present frame is told of.
  std::vector<KeyPress> take_keys() { return std::exchange(keys_, {}); }
  /// Between the back end's NewFrame and ImGui's: tells Dear ImGui what this frame sees (InputQueue).
  void forward();
  /// Paths of files and folders that were dropped on the window since the last call.
  std::vector<std::string> take_dropped() { return std::exchange(dropped_, {}); }
  /// True if anything happened since the last call (keys, mouse, resize, exposure) or waits for another frame.
  bool take_activity() { return std::exchange(activity_, false); }

 private:
  static InputWatch* of(GLFWwindow* window);
  void watch_pointer();
  bool is_down(KeyPair keys) const;
  void forward_keys(const InputStep& step);
  /// The same of Ctrl, Shift and Alt, which Dear ImGui keeps apart.
  void forward_modifiers(const InputStep& step) const;

  GLFWwindow* window_;
  InputQueue queue_;
  PointerPlace pointer_;
  std::vector<KeyPress> keys_;
  std::vector<std::string> dropped_;
  std::vector<int> forwarded_;  // held down for Dear ImGui during one frame
  bool activity_ = true;
};

}  // namespace warpscope::ui
