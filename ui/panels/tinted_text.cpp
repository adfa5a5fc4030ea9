#include "ui/panels/tinted_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "ui/images/colour_bar.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr char32_t kLastOfFont = 0xFFFF, kOfOtherPlanes = 0xFFFD;
constexpr float kLeastPart = 0.02f;  // of the largest share: less is not seen
constexpr std::u32string_view kMore = U"...";

/// Dear ImGui's fonts end with the first plane.
char32_t drawable(char32_t point) {
  return point > kLastOfFont ? kOfOtherPlanes : point;
}

float advance(const ImFont* font, char32_t point) {
  return font->GetCharAdvance(static_cast<ImWchar>(drawable(point))) * font_size(font) / font->FontSize;
}

std::vector<std::pair<std::size_t, std::size_t>> lines_of(const ImFont* font, std::u32string_view text,
                                                          float width, std::size_t most) {
  return break_lines(text, width, most, [font](char32_t point) { return advance(font, point); });
}

/// The end of a line that leaves room for "...".
std::size_t end_before_more(const ImFont* font, std::u32string_view text, std::size_t begin, float width) {
  float room = width;
  for (const char32_t point : kMore) room -= advance(font, point);
  std::size_t end = begin;
  while (end < text.size() && (room -= advance(font, text[end])) >= 0) ++end;
  return end;
}

class Line {
 public:
  Line(const Frame& frame, const TintedText& text, ImVec2 at, float pitch, ImU32 color)
      : frame_(frame), text_(text), x_(at.x), top_(at.y), pitch_(pitch), color_(color) {
    const ImFont* const font = frame.fonts.text;
    baseline_ = top_ + (pitch - font_size(font)) / 2 + font->Ascent * ImGui::GetIO().FontGlobalScale;
    largest_ = text.shares == nullptr ? 0 : largest_share(*text.shares);
  }

  /// Returns the character under the pointer.
  std::optional<std::size_t> draw(std::size_t begin, std::size_t end, bool more) {
    std::optional<std::size_t> pointed;
    const float left = x_;
    for (std::size_t i = begin; i < end; ++i) {
      const float width = advance(frame_.fonts.text, text_.characters[i]);
      const ImVec2 min(x_, top_), max(x_ + width, top_ + pitch_);
      mark(i, min, max);
      if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(min, max)) pointed = i;
      x_ = max.x;
    }
    const std::size_t read =
        text_.shares == nullptr ? end : std::clamp(text_.shares->shares.size(), begin, end);
    x_ = write(begin, read, left, color_);
    x_ = write(read, end, x_, frame_.palette.muted);
    if (more)
      draw_text(ImGui::GetWindowDrawList(), frame_.fonts.text, x_, baseline_, frame_.palette.muted, "...");
    return pointed;
  }

 private:
  void mark(std::size_t i, ImVec2 min, ImVec2 max) const {
    if (text_.shares == nullptr || i >= text_.shares->shares.size()) return;
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const float part = largest_ > 0 ? text_.shares->shares[i] / largest_ : 0;
    if (std::abs(part) >= kLeastPart) list->AddRectFilled(min, max, share_colour(frame_.palette, part));
    if (text_.shares->known[i] != 0) return;
    const float line = hairline(frame_), y = std::floor(baseline_ + 3 * frame_.scale);
    list->AddRectFilled(ImVec2(min.x + line, y), ImVec2(max.x - line, y + std::max(2.0f, 2 * line)),
                        frame_.palette.warning);
  }
  float write(std::size_t begin, std::size_t end, float x, ImU32 color) const {
    std::string utf8;
    for (std::size_t i = begin; i < end; ++i) utf8 += files::encode_utf8(drawable(text_.characters[i]));
    draw_text(ImGui::GetWindowDrawList(), frame_.fonts.text, x, baseline_, color, utf8);
    for (std::size_t i = begin; i < end; ++i) x += advance(frame_.fonts.text, text_.characters[i]);
    return x;
  }

  const Frame& frame_;
  const TintedText& text_;
  float x_, top_, pitch_, baseline_ = 0, largest_ = 0;
  ImU32 color_;
};

images::ColourBar bar_of(const Frame& frame, const std::string& low, const std::string& high) {
  return {low, high, [&palette = frame.palette](float part) {
            const ImU32 colour = share_colour(palette, 2 * part - 1);
            const auto byte = [colour](int shift) {
              return static_cast<std::uint8_t>((colour >> shift) & 0xFF);
            };
            return images::Rgba{byte(IM_COL32_R_SHIFT), byte(IM_COL32_G_SHIFT), byte(IM_COL32_B_SHIFT), 255};
          }};
}

constexpr float kStrongest = 0.5f;  // of a hue over the panel; text must be read on it

bool is_control(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

std::string counted(std::size_t count, const char* what) {
  return files::counted(static_cast<std::int64_t>(count), what);
}

}  // namespace

std::u32string shown_characters(std::string_view text) {
  std::u32string shown;
  for (const char32_t point : files::decode_utf8(text)) {
    shown += point == files::kBroken ? kOfOtherPlanes : is_control(point) ? U' ' : point;
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

std::optional<std::size_t> draw_tinted_text(const Frame& frame, const TintedText& text, ImVec2 at,
                                            float width, float pitch, std::size_t lines, ImU32 color) {
  const ImFont* const font = frame.fonts.text;
  std::optional<std::size_t> pointed;
  const auto all = lines_of(font, text.characters, width, lines);
  for (std::size_t n = 0; n < all.size(); ++n) {
    auto [begin, end] = all[n];
    const bool more = n + 1 == lines && end < text.characters.size();
    if (more) end = std::min(end, end_before_more(font, text.characters, begin, width));
    Line line(frame, text, ImVec2(at.x, at.y + static_cast<float>(n) * pitch), pitch, color);
    if (const auto found = line.draw(begin, end, more)) pointed = found;
  }
  return pointed;
}

std::size_t tinted_lines(const Frame& frame, const TintedText& text, float width, std::size_t most) {
  return lines_of(frame.fonts.text, text.characters, width, most).size();
}

void share_legend(const Frame& frame, const std::string& low, const std::string& high, float width) {
  images::colour_bar(frame, bar_of(frame, low, high), width);
  tooltip(frame,
          "Gradient x input: what each character, as the network reads it, does for the score of the class "
          "that the text is taken for, or for the class that was clicked on. Orange speaks for it, blue "
          "against it; the strongest colour is the largest share of the text.");
}

float share_legend_width(const Frame& frame, const std::string& low, const std::string& high, float width) {
  return images::colour_bar_width(frame, bar_of(frame, low, high), width);
}

}  // namespace warpscope::ui
