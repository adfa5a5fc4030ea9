#pragma once
// A text whose characters stand on colours that tell their shares in a decision.

#include <cstddef>
#include <optional>
#include <string>

#include "gpu/messages/text_attributions.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

struct TintedText {
  std::u32string characters;  ///< shown_characters()
  const training::TextAttribution* shares =
      nullptr;  ///< of the same text; nullptr: not known yet, nothing is tinted
};

/// Lines of it in the text font from `at`, at most `lines` of `width` pixels and `pitch` pixels high; the last one ends
/// with "..." if there are more. Characters that the alphabet lacks are underlined, those left out are muted, the
/// others have the colour `color`. Returns the character under the pointer.
std::optional<std::size_t> draw_tinted_text(const Frame& frame, const TintedText& text, ImVec2 at,
                                            float width, float pitch, std::size_t lines, ImU32 color);

/// How many lines of `width` pixels it takes, at most `most`.
std::size_t tinted_lines(const Frame& frame, const TintedText& text, float width, std::size_t most);

/// The bar that tells the colours, as an item one frame high; `low` and `high` stand at its ends.
void share_legend(const Frame& frame, const std::string& low, const std::string& high, float width);
/// Pixels that it takes.
float share_legend_width(const Frame& frame, const std::string& low, const std::string& high, float width);

}  // namespace warpscope::ui
