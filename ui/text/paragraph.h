#pragma once
// Text that wraps between words alone: Dear ImGui breaks lines after any full stop or comma, also within a
// number.

#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// What the trainer says in lower case, as a sentence: "the loss fell" becomes "The loss fell."
std::string sentence(std::string text);

/// `text` in lines at most `width` pixels wide; a word that is wider has a line of its own.
std::vector<std::string> wrap(const ImFont* font, std::string_view text, float width);

/// Height in pixels of the item that paragraph() makes of `text` where `width` pixels are left.
float paragraph_height(const ImFont* font, std::string_view text, float width);

/// The text as an item that takes the width that is left.
void paragraph(const ImFont* font, ImU32 color, std::string_view text);

}  // namespace warpscope::ui
