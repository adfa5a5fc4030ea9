#include "ui/input/input_queue.h"

#include <cstddef>
#include <utility>

namespace warpscope::ui {
namespace {

/// It does something in a text field beside typing a character.
bool edits(const KeyPress& key) {
  constexpr int kEscape = 256, kEnd = 269, kKeypadEnter = 335;  // GLFW's: others between the first two
  return key.control || (key.key >= kEscape && key.key <= kEnd) || key.key == kKeypadEnter;
}

}  // namespace

std::vector<KeyPress> InputQueue::waiting_keys() const {
  std::vector<KeyPress> keys;
  for (const auto& act : acts_) {
    if (const auto* const key = std::get_if<KeyPress>(&act)) keys.push_back(*key);
  }
  return keys;
}

InputStep InputQueue::next(PointerPlace now) {
  InputStep step{.pointer = now};
  const std::optional<int> before = std::exchange(edited_, std::nullopt);
  for (; !acts_.empty(); acts_.pop_front()) {
    if (const auto* const key = std::get_if<KeyPress>(&acts_.front())) {
      if (edits(*key)) {
        const bool down = before == key->key;  // it must be up for a frame
        if (down || edited_ || !step.characters.empty()) break;
        edited_ = key->key;
      }
      step.keys.push_back(*key);
    } else if (const auto* const character = std::get_if<unsigned>(&acts_.front())) {
      if (edited_) break;
      step.characters.push_back(*character);
    } else {
      if (!step.keys.empty() || !step.characters.empty()) break;  // each has modifiers of its own
      const ButtonChange change = std::get<ButtonChange>(acts_.front());
      step.pointer = change.place;
      // What is dragged arrives before it is let go.
      if (!change.down && change.place != told_) break;
      down_.at(static_cast<std::size_t>(change.button)) = change.down;
      step.change = change;
      acts_.pop_front();
      break;
    }
  }
  told_ = step.pointer;
  step.down = down_;
  return step;
}

}  // namespace warpscope::ui
