#pragma once
// A field for one line of text of any length that a person would type or paste.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Control characters of what is pasted, line ends too, become blanks. Characters behind the first plane of Unicode,
/// which Dear ImGui's fields have no place for, become U+FFFD. Escape leaves the field, and the text as it is.
class TypedField {
 public:
  static constexpr std::size_t kMostCharacters = 20000;

  TypedField();
  /// An item `width` pixels wide, traced as `name`. `hint` stands in it while it is empty.
  void draw(const Frame& frame, const char* name, const char* hint, float width);
  void clear();

  std::string_view text() const { return buffer_.data(); }
  bool active() const { return active_; }  ///< it takes keys
  /// What of the text is not as it was typed or pasted, in sentences, else "".
  std::string lost_text(const Frame& frame) const;

 private:
  std::vector<char> buffer_;
  bool active_ = false;
  std::size_t cut_ = 0;  ///< characters of the last paste that had no room
};

/// What a field with room for so many characters takes of a pasted text; `cut` counts those that it does not.
std::string pasteable(std::string_view text, std::size_t room, std::size_t& cut);

}  // namespace warpscope::ui
