#include "ui/keys.h"

#include <cctype>
#include <utility>

#include <GLFW/glfw3.h>
#include <imgui.h>

namespace warpscope::ui {

InputWatch* InputWatch::of(GLFWwindow* window) {
  return static_cast<InputWatch*>(glfwGetWindowUserPointer(window));
}

InputWatch::InputWatch(GLFWwindow* window) : window_(window) {
  glfwSetWindowUserPointer(window, this);
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
    InputWatch* const self = of(w);
    self->activity_ = true;
    if (action != GLFW_PRESS) return;
    if (key >= 0) self->pressed_.push_back(key);
    const char* const name = glfwGetKeyName(key, scancode);
    const bool one = name != nullptr && name[0] != '\0' && name[1] == '\0';
    const char letter = one ? static_cast<char>(std::tolower(static_cast<unsigned char>(name[0]))) : '\0';
    self->keys_.push_back({key, letter, (mods & GLFW_MOD_CONTROL) != 0, (mods & GLFW_MOD_SHIFT) != 0});
  });
  glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
    of(w)->activity_ = true;
    of(w)->dropped_.insert(of(w)->dropped_.end(), paths, paths + count);
  });
  glfwSetCursorPosCallback(window, [](GLFWwindow* w, double, double) { of(w)->activity_ = true; });
  glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int) { of(w)->activity_ = true; });
  glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int, int, int) { of(w)->activity_ = true; });
  glfwSetScrollCallback(window, [](GLFWwindow* w, double, double) { of(w)->activity_ = true; });
  glfwSetFramebufferSizeCallback(window, [](GLFWwindow* w, int, int) { of(w)->activity_ = true; });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { of(w)->activity_ = true; });
  glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int) { of(w)->activity_ = true; });
}

InputWatch::~InputWatch() {
  glfwSetKeyCallback(window_, nullptr);
  glfwSetDropCallback(window_, nullptr);
  glfwSetCursorPosCallback(window_, nullptr);
  glfwSetCursorEnterCallback(window_, nullptr);
  glfwSetMouseButtonCallback(window_, nullptr);
  glfwSetScrollCallback(window_, nullptr);
  glfwSetFramebufferSizeCallback(window_, nullptr);
  glfwSetWindowRefreshCallback(window_, nullptr);
  glfwSetWindowFocusCallback(window_, nullptr);
  glfwSetWindowUserPointer(window_, nullptr);
}

std::vector<KeyPress> InputWatch::take_keys() {
  return std::exchange(keys_, {});
}

std::vector<std::string> InputWatch::take_dropped() {
  return std::exchange(dropped_, {});
}

void InputWatch::forward_taps() {
#if IMGUI_VERSION_NUM < 18700
  bool* const down = ImGui::GetIO().KeysDown;
  for (const int key : forwarded_) down[key] = glfwGetKey(window_, key) == GLFW_PRESS;
  forwarded_.clear();
  for (const int key : pressed_) {
    if (std::exchange(down[key], true)) continue;
    forwarded_.push_back(key);
    activity_ = true;  // so that the frame that lets it go comes soon
  }
#endif
  pressed_.clear();
}

bool InputWatch::take_activity() {
  return std::exchange(activity_, false);
}

}  // namespace warpscope::ui
