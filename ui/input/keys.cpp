#include "ui/input/keys.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <GLFW/glfw3.h>
#include <imgui.h>

namespace warpscope::ui {
namespace {

PointerPlace place_of(double x, double y) {
  return {static_cast<float>(x), static_cast<float>(y)};
}

bool has(int mods, int bit) {
  return (mods & bit) != 0;
}

constexpr InputWatch::KeyPair kControls{GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL},
    kShifts{GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT}, kAlts{GLFW_KEY_LEFT_ALT, GLFW_KEY_RIGHT_ALT};

#if IMGUI_VERSION_NUM < 18700
// With the modifiers that were down then: they may be let go before the frame.
std::vector<int> codes_of(const KeyPress& press) {
  std::vector<int> codes;
  if (press.control) codes.push_back(GLFW_KEY_LEFT_CONTROL);
  if (press.shift) codes.push_back(GLFW_KEY_LEFT_SHIFT);
  if (press.alt) codes.push_back(GLFW_KEY_LEFT_ALT);
  if (press.key >= 0) codes.push_back(press.key);
  return codes;
}
#endif

}  // namespace

InputWatch* InputWatch::of(GLFWwindow* window) {
  return static_cast<InputWatch*>(glfwGetWindowUserPointer(window));
}

InputWatch::InputWatch(GLFWwindow* window) : window_(window) {
  glfwSetWindowUserPointer(window, this);
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
    InputWatch* const self = of(w);
    self->activity_ = true;
    if (action != GLFW_PRESS) return;
    const char* const name = glfwGetKeyName(key, scancode);
    const bool one = name != nullptr && name[0] != '\0' && name[1] == '\0';
    const char letter = one ? static_cast<char>(std::tolower(static_cast<unsigned char>(name[0]))) : '\0';
    self->queue_.add(KeyPress{key, letter, has(mods, GLFW_MOD_CONTROL), has(mods, GLFW_MOD_SHIFT),
                              has(mods, GLFW_MOD_ALT)});
  });
  glfwSetCharCallback(window, [](GLFWwindow* w, unsigned character) {
    of(w)->activity_ = true;
    of(w)->queue_.add(character);
  });
  glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
    of(w)->activity_ = true;
    of(w)->dropped_.insert(of(w)->dropped_.end(), paths, paths + count);
  });
  watch_pointer();
  glfwSetFramebufferSizeCallback(window, [](GLFWwindow* w, int, int) { of(w)->activity_ = true; });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { of(w)->activity_ = true; });
  glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int) { of(w)->activity_ = true; });
}

void InputWatch::watch_pointer() {
  double x = 0, y = 0;
  glfwGetCursorPos(window_, &x, &y);
  pointer_ = place_of(x, y);
  glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double now_x, double now_y) {
    of(w)->activity_ = true;
    of(w)->pointer_ = place_of(now_x, now_y);
  });
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int button, int action, int mods) {
    InputWatch* const self = of(w);
    self->activity_ = true;
    if (button < 0 || button >= kPointerButtons) return;
    self->queue_.add(ButtonChange{button, action == GLFW_PRESS, self->pointer_, has(mods, GLFW_MOD_CONTROL),
                                  has(mods, GLFW_MOD_SHIFT), has(mods, GLFW_MOD_ALT)});
  });
  glfwSetCursorEnterCallback(window_, [](GLFWwindow* w, int) { of(w)->activity_ = true; });
  glfwSetScrollCallback(window_, [](GLFWwindow* w, double right, double up) {
    InputWatch* const self = of(w);
    self->activity_ = true;
    self->queue_.add(WheelTurn{static_cast<float>(right), static_cast<float>(up), self->pointer_,
                               self->is_down(kControls), self->is_down(kShifts), self->is_down(kAlts)});
  });
}

InputWatch::~InputWatch() {
  glfwSetKeyCallback(window_, nullptr);
  glfwSetCharCallback(window_, nullptr);
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

bool InputWatch::is_down(KeyPair keys) const {
  return glfwGetKey(window_, keys.left) == GLFW_PRESS || glfwGetKey(window_, keys.right) == GLFW_PRESS;
}

void InputWatch::forward() {
  ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM < 18700
  const InputStep step = queue_.next({io.MousePos.x, io.MousePos.y});
  io.MousePos = ImVec2(step.pointer.x, step.pointer.y);
  std::copy(step.down.begin(), step.down.end(), io.MouseDown);
  io.MouseWheel = step.wheel ? step.wheel->y : 0;  // the back end has put in what was turned by now
  io.MouseWheelH = step.wheel ? step.wheel->x : 0;
  // The back end has put in all that were typed.
  io.InputQueueCharacters.resize(0);
  for (const unsigned character : step.characters) io.AddInputCharacter(character);
  forward_keys(step);
  forward_modifiers(step);
  keys_.insert(keys_.end(), step.keys.begin(), step.keys.end());
  if (queue_.waits()) activity_ = true;  // so that the next frame comes soon
#else
  while (queue_.waits()) {  // it has a queue of its own
    const InputStep step = queue_.next({io.MousePos.x, io.MousePos.y});
    keys_.insert(keys_.end(), step.keys.begin(), step.keys.end());
  }
#endif
}

void InputWatch::forward_keys([[maybe_unused]] const InputStep& step) {
#if IMGUI_VERSION_NUM < 18700
  bool* const down = ImGui::GetIO().KeysDown;
  for (const int key : forwarded_) down[key] = glfwGetKey(window_, key) == GLFW_PRESS;
  forwarded_.clear();
  for (const KeyPress& later : queue_.waiting_keys()) {
    if (later.key >= 0) down[later.key] = false;
  }
  for (const KeyPress& press : step.keys) {
    for (const int key : codes_of(press)) {
      if (std::exchange(down[key], true)) continue;
      forwarded_.push_back(key);
      activity_ = true;  // so that the frame that lets it go comes soon
    }
  }
#endif
}

// A tap of Ctrl counts only without characters: those of the same frame were typed without it.
void InputWatch::forward_modifiers([[maybe_unused]] const InputStep& step) const {
#if IMGUI_VERSION_NUM < 18700
  ImGuiIO& io = ImGui::GetIO();
  const bool taps = step.characters.empty();
  const auto down = [&](KeyPair keys, bool with_button, bool with_wheel) {
    if (step.change) return with_button;
    if (step.wheel) return with_wheel;
    return taps ? io.KeysDown[keys.left] || io.KeysDown[keys.right] : is_down(keys);
  };
  const ButtonChange button = step.change.value_or(ButtonChange{});
  const WheelTurn wheel = step.wheel.value_or(WheelTurn{});
  io.KeyCtrl = down(kControls, button.control, wheel.control);
  io.KeyShift = down(kShifts, button.shift, wheel.shift);
  io.KeyAlt = down(kAlts, button.alt, wheel.alt);
#endif
}

}  // namespace warpscope::ui
