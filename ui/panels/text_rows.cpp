#include "ui/panels/text_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "gpu/files/utf8.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr float kStrongest = 0.5f;  // of a hue over the panel; text must be read on it

bool is_control(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", with_thousands(count), what, count == 1 ? "" : "s");
}

}  // namespace

std::u32string shown_characters(std::string_view text) {
  std::u32string shown;
  for (const char32_t point : files::decode_utf8(text)) {
    shown += point == files::kBroken ? kReplacement : is_control(point) ? U' ' : point;
  }
  return shown;
}

std::vector<std::pair<std::size_t, std::size_t>> break_lines(std::u32string_view text, float width,
                                                             std::size_t most,
                                                             const std::function<float(char32_t)>& advance) {
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  std::size_t begin = 0, behind_blank = 0;
  float x = 0, x_behind_blank = 0;
  for (std::size_t i = 0; i < text.size() && lines.size() < most; ++i) {
    const float step = advance(text[i]);
    if (x + step > width && text[i] != U' ' && i > begin) {
      const bool at_blank = behind_blank > begin;
      const std::size_t end = at_blank ? behind_blank : i;
      lines.emplace_back(begin, end);
      x = at_blank ? x - x_behind_blank : 0;
      begin = end;
    }
    x += step;
    if (text[i] == U' ') {
      behind_blank = i + 1;
      x_behind_blank = x;
    }
  }
  if (begin < text.size() && lines.size() < most) lines.emplace_back(begin, text.size());
  return lines;
}

ImU32 share_colour(const Palette& palette, float part) {
  if (std::isnan(part)) return palette.panel;
  const float strength = kStrongest * std::min(1.0f, std::abs(part));
  return blend(palette.series[part < 0 ? 0 : 1], palette.panel, strength);
}

float largest_share(const training::TextAttribution& text) {
  float largest = 0;
  for (const float share : text.shares) {
    if (std::isfinite(share)) largest = std::max(largest, std::abs(share));
  }
  return largest;
}

std::optional<std::pair<std::string, std::string>> legend_ends(const training::TextAttribution& text) {
  const float largest = largest_share(text);
  if (!(largest > 0)) return std::nullopt;
  return std::pair(share_text(-largest), share_text(largest));
}

std::string share_text(float share) {
  return fmt::format("{:+.3g}", share);
}

std::string character_text(const training::TextAttribution& text, std::size_t character,
                           std::string_view target) {
  const std::u32string shown = shown_characters(text.text);
  const std::string letter = character < shown.size() ? files::encode_utf8(shown[character]) : std::string();
  std::string result = fmt::format("'{}', character {}", letter, with_thousands(character + 1));
  if (character >= text.shares.size()) return result + ": left out, the network has no place for it.";
  if (text.known[character] == 0) result += ", not in the alphabet";
  const auto score = static_cast<std::size_t>(text.target);
  return fmt::format("{}\nshare {} in the score of {}\nscore {:.3g}", result,
                     share_text(text.shares[character]), target,
                     score < text.scores.size() ? text.scores[score] : std::nanf(""));
}

std::string reading_text(const training::TextAttribution& text, std::size_t length) {
  const std::size_t read = text.shares.size();
  const auto unknown =
      static_cast<std::size_t>(std::count(text.known.begin(), text.known.end(), std::uint8_t{0}));
  if (read == 0) return fmt::format("An empty text: all {} are blank.", counted(length, "place"));
  std::string result = fmt::format("{} of {}", counted(read, "character"), counted(length, "place"));
  if (unknown > 0) result += fmt::format(", {} not in the alphabet (underlined)", with_thousands(unknown));
  result += '.';
  if (text.blank_share != 0) {
    result += fmt::format(" Blank places: share {}.", share_text(text.blank_share));
  }
  if (text.left_out > 0) {
    result += fmt::format(" The last {} {} left out: the network reads no more.",
                          counted(text.left_out, "character"), text.left_out == 1 ? "is" : "are");
  }
  return result;
}

std::vector<int> shown_classes(const std::vector<double>& probabilities, std::size_t most) {
  std::vector<int> classes(probabilities.size());
  std::iota(classes.begin(), classes.end(), 0);
  if (classes.size() <= most) return classes;
  const auto of = [&](int index) {
    const double value = probabilities[static_cast<std::size_t>(index)];
    return std::isnan(value) ? -1.0 : value;
  };
  std::stable_sort(classes.begin(), classes.end(), [&](int a, int b) { return of(a) > of(b); });
  classes.resize(most);
  return classes;
}

}  // namespace warpscope::ui
