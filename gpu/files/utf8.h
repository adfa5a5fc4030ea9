#pragma once
// Texts in UTF-8 as code points and back.
// Source: The Unicode Standard, version 15, section 3.9, table 3-7 and "substitution of maximal subparts".

#include <string>
#include <string_view>
#include <vector>

namespace warpscope::files {

/// Stands for bytes that are no UTF-8; it is no code point.
inline constexpr char32_t kBroken = 0xFFFFFFFF;

/// The code points of `text`. Bytes that are no UTF-8 (a byte that begins nothing, a sequence that ends too early, one
/// that is longer than need be, a surrogate, more than U+10FFFF) are one kBroken for each maximal subpart: the longest
/// beginning of a valid sequence, or a byte. Never throws but for memory.
std::vector<char32_t> decode_utf8(std::string_view text);

/// The bytes of a code point; those of U+FFFD for kBroken.
std::string encode_utf8(char32_t point);

/// `text` with U+FFFD for what is broken, so that it can be shown and written as JSON.
std::string valid_utf8(std::string_view text);

/// `text` with its bytes that are no UTF-8 as escaped() shows them, so that different names stay different. All else
/// stays.
std::string legible_utf8(std::string_view text);
std::vector<std::string> legible_utf8(const std::vector<std::string>& texts);

/// What escaped() leaves as it is, though it controls where the text goes.
enum class Keep { nothing, lines };  // lines: line breaks and tabs

/// `text` for a terminal or a sentence: what would control either is shown instead, as \n, \x1b or \u202e: control
/// characters (C0, DEL, C1), those that turn the direction of the text (UAX #9), separators of lines, what is not to be
/// seen at all, and bytes that are no UTF-8. All else stays, so that escaping twice is the same as once.
std::string escaped(std::string_view text, Keep keep = Keep::nothing);

/// A capital letter of ASCII, Latin-1, Greek or Cyrillic becomes the small one; all else stays.
char32_t small_letter(char32_t point);

}  // namespace warpscope::files
