#include "ui/input/keys.h"

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
    if (key >= 0) self->press(key, mods);
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

// With the modifiers that were down then: they may be let go before the frame.
void InputWatch::press(int key, int mods) {
  if ((mods & GLFW_MOD_CONTROL) != 0) pressed_.push_back(GLFW_KEY_LEFT_CONTROL);
  if ((mods & GLFW_MOD_SHIFT) != 0) pressed_.push_back(GLFW_KEY_LEFT_SHIFT);
  if ((mods & GLFW_MOD_ALT) != 0) pressed_.push_back(GLFW_KEY_LEFT_ALT);
  pressed_.push_back(key);
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
  forward_modifiers();
#endif
  pressed_.clear();
}

// A tap of Ctrl counts only without characters: those of the same frame were typed without it.
void InputWatch::forward_modifiers() {
#if IMGUI_VERSION_NUM < 18700
  ImGuiIO& io = ImGui::GetIO();
  const bool taps = io.InputQueueCharacters.empty();
  const auto down = [&](int left, int right) {
    if (taps) return io.KeysDown[left] || io.KeysDown[right];
    return glfwGetKey(window_, left) == GLFW_PRESS || glfwGetKey(window_, right) == GLFW_PRESS;
  };
  io.KeyCtrl = down(GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL);
  io.KeyShift = down(GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT);
  io.KeyAlt = down(GLFW_KEY_LEFT_ALT, GLFW_KEY_RIGHT_ALT);
#endif
}

bool InputWatch::take_activity() {
  return std::exchange(activity_, false);
}

}  // namespace warpscope::ui
