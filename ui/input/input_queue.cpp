#include "ui/input/input_queue.h"

#include <cstddef>
#include <utility>

namespace warpscope::ui {
namespace {

bool turn_together(const WheelTurn& a, const WheelTurn& b) {
  return a.place == b.place && a.control == b.control && a.shift == b.shift && a.alt == b.alt;
}

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
    const auto* const turn = std::get_if<WheelTurn>(&acts_.front());
    if (step.wheel && (turn == nullptr || !turn_together(*step.wheel, *turn))) break;
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
    } else if (turn != nullptr) {
      if (!step.keys.empty() || !step.characters.empty()) break;
      WheelTurn sum = *turn;
      if (step.wheel) sum.x += step.wheel->x, sum.y += step.wheel->y;
      step.wheel = sum;
      step.pointer = turn->place;
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
