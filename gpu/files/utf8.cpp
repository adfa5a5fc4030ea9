#include "gpu/files/utf8.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace warpscope::files {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// What may follow a first byte: so many bytes, of which the first lies in [least, most], the others in 80 to BF.
struct Lead {
  int more = -1;  ///< -1: it begins nothing
  unsigned bits = 0;
  unsigned least = 0x80;
  unsigned most = 0xBF;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {0, byte};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {1, byte & 0x1F};
  if (byte < 0xF0) return {2, byte & 0x0F, byte == 0xE0 ? 0xA0u : 0x80u, byte == 0xED ? 0x9Fu : 0xBFu};
  if (byte < 0xF5) return {3, byte & 0x07, byte == 0xF0 ? 0x90u : 0x80u, byte == 0xF4 ? 0x8Fu : 0xBFu};
  return {};
}

/// The code point at `at`, which moves behind it.
char32_t next_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t place) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[place]));
  };
  const Lead lead = lead_of(byte(at++));
  if (lead.more < 0) return kBroken;
  char32_t point = lead.bits;
  for (int i = 0; i < lead.more; ++i, ++at) {
    const unsigned least = i == 0 ? lead.least : 0x80, most = i == 0 ? lead.most : 0xBF;
    if (at >= text.size() || byte(at) < least || byte(at) > most) return kBroken;
    point = point << 6 | (byte(at) & 0x3F);
  }
  return point;
}

struct Points {
  char32_t first, last;
};

/// Code points beyond ASCII that change how others are shown, or show nothing where something is.
constexpr std::array<Points, 11> kUnseen{{{0x80, 0x9F},
                                          {0x61C, 0x61C},
                                          {0x180E, 0x180E},
                                          {0x200B, 0x200B},
                                          {0x200E, 0x200F},
                                          {0x2028, 0x202E},
                                          {0x2060, 0x206F},
                                          {0xFEFF, 0xFEFF},
                                          {0xFFF9, 0xFFFB},
                                          {0xFFFE, 0xFFFF},
                                          {0xE0000, 0xE007F}}};

bool is_unseen(char32_t point) {
  return std::ranges::any_of(
      kUnseen, [&](const Points& range) { return point >= range.first && point <= range.last; });
}

/// For a control character in ASCII.
std::string escaped_control(char32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\r') return "\\r";
  if (point == '\t') return "\\t";
  return fmt::format("\\x{:02x}", static_cast<unsigned>(point));
}

}  // namespace

std::vector<char32_t> decode_utf8(std::string_view text) {
  std::vector<char32_t> points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) points.push_back(next_point(text, at));
  return points;
}

std::string encode_utf8(char32_t point) {
  if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) point = kReplacement;
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xC0 | point >> 6), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xE0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | point >> 18), tail(12), tail(6), tail(0)};
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (const char32_t point : decode_utf8(text)) valid += encode_utf8(point);
  return valid;
}

std::string legible_utf8(std::string_view text) {
  std::string legible;
  legible.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool broken = next_point(text, at) == kBroken;
    const std::string_view bytes = text.substr(begin, at - begin);
    legible += broken ? escaped(bytes) : std::string(bytes);
  }
  return legible;
}

std::vector<std::string> legible_utf8(const std::vector<std::string>& texts) {
  std::vector<std::string> legible;
  legible.reserve(texts.size());
  for (const std::string& text : texts) legible.push_back(legible_utf8(text));
  return legible;
}

std::string escaped(std::string_view text, Keep keep) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t point = next_point(text, at);
    const std::string_view bytes = text.substr(begin, at - begin);
    if (point == kBroken) {
      for (const char byte : bytes) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else if (point < 0x20 || point == 0x7F) {
      const bool kept = keep == Keep::lines && (point == '\n' || point == '\t');
      result += kept ? std::string(bytes) : escaped_control(point);
    } else if (is_unseen(point)) {
      const bool wide = point > 0xFFFF;
      result += fmt::format("\\{}{:0{}x}", wide ? 'U' : 'u', static_cast<unsigned>(point), wide ? 8 : 4);
    } else {
      result += bytes;
    }
  }
  return result;
}

char32_t small_letter(char32_t point) {
  const auto in = [&](char32_t first, char32_t last) { return point >= first && point <= last; };
  if (in('A', 'Z') || (in(0xC0, 0xDE) && point != 0xD7)) return point + 32;
  if ((in(0x391, 0x3A9) && point != 0x3A2) || in(0x410, 0x42F)) return point + 32;
  return in(0x400, 0x40F) ? point + 80 : point;
}

}  // namespace warpscope::files
