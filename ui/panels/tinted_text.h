#pragma once
// A text whose characters stand on colours that tell their shares in a decision.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/messages/text_attributions.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

/// The characters of a text as they are shown, one for each that a network reads: blanks for control characters, U+FFFD
/// for what is no UTF-8.
std::u32string shown_characters(std::string_view text);

/// Lines of characters [first, second) of `text`, at most `width` wide by `advance`, broken behind blanks, and within
/// words that are wider; no more than `most`. The blank at the end of a line may stand over it.
std::vector<std::pair<std::size_t, std::size_t>> break_lines(std::u32string_view text, float width,
                                                             std::size_t most,
                                                             const std::function<float(char32_t)>& advance);

/// What stands behind a character with `part` of the largest share, from -1 (against) to 1 (for): the palette's blue,
/// the panel, its orange. They differ with any kind of colour blindness, and text can be read on all of them.
ImU32 share_colour(const Palette& palette, float part);

/// The largest magnitude of a share that is a number; 0 if there is none.
float largest_share(const training::TextAttribution& text);

/// What stands at the ends of the bar that tells the colours of its shares: "-0.5" and "+0.5"; nothing where no
/// character has a share.
std::optional<std::pair<std::string, std::string>> legend_ends(const training::TextAttribution& text);

/// "+0.0312"
std::string share_text(float share);

/// What one character of it does, in lines: "'w', character 12", "share +0.0312 in the score of World", "score 1.25".
std::string character_text(const training::TextAttribution& text, std::size_t character,
                           std::string_view target);

/// What was read and what was left out, in sentences. `length`: of the network's input.
std::string reading_text(const training::TextAttribution& text, std::size_t length);

/// The classes whose probabilities are shown: all in their order if `most` are enough, else the most probable ones,
/// the most probable first.
std::vector<int> shown_classes(const std::vector<double>& probabilities, std::size_t most);

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
