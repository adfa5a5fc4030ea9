#pragma once
// Clicks, turns of the wheel, keys and characters in the order in which they came, a part of them a frame.

#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

namespace warpscope::ui {

struct KeyPress {
  int key = 0;      ///< GLFW_KEY_...
  char letter = 0;  ///< what the keyboard's layout has there, in lower case; 0 if no letter or digit
  bool control = false;
  bool shift = false;
  bool alt = false;
};

/// Pixels of the window.
struct PointerPlace {
  float x = 0, y = 0;
  bool operator==(const PointerPlace&) const = default;
};

struct ButtonChange {
  int button = 0;  ///< below kPointerButtons
  bool down = false;
  PointerPlace place = {};
  bool control = false, shift = false, alt = false;
};
inline constexpr int kPointerButtons = 5;

/// The wheel, in its notches; of some pads in parts of them.
struct WheelTurn {
  float x = 0, y = 0;
  PointerPlace place = {};
  bool control = false, shift = false, alt = false;
};

/// What one frame is told.
struct InputStep {
  PointerPlace pointer = {};
  std::array<bool, kPointerButtons> down = {};
  std::optional<ButtonChange> change = {};  ///< which of `down` is new
  std::optional<WheelTurn> wheel = {};
  std::vector<KeyPress> keys = {};
  std::vector<unsigned> characters = {};
};

/// However slow the frames are, each sees one change of a button at most, with the pointer where it was then, or turns
/// of the wheel at one place, or the keys between two of them, of which one edits at most (arrows, Backspace, Enter,
/// Ctrl + C), and then no characters. Dear ImGui before 1.87 sees only what is down at a frame: it loses a click or a
/// key that is let go and pressed anew within one or between two, takes a click, and a turn of the wheel, to where the
/// pointer is by then, and what is typed before all keys.
class InputQueue {
 public:
  void add(const ButtonChange& change) { acts_.emplace_back(change); }
  void add(const WheelTurn& turn) { acts_.emplace_back(turn); }
  void add(const KeyPress& key) { acts_.emplace_back(key); }
  void add(unsigned character) { acts_.emplace_back(character); }
  /// Something is left for another frame.
  bool waits() const { return !acts_.empty(); }
  /// The keys that are left for other frames.
  std::vector<KeyPress> waiting_keys() const;
  /// The events of the next frame; `now` is where the pointer is if nothing is left.
  InputStep next(PointerPlace now);

 private:
  std::deque<std::variant<ButtonChange, WheelTurn, KeyPress, unsigned>> acts_;
  std::array<bool, kPointerButtons> down_ = {};
  PointerPlace told_{-std::numeric_limits<float>::max(), 0};
  std::optional<int> edited_ = {};  ///< the key that edits of the frame before
};

}  // namespace warpscope::ui
