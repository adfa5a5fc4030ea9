#include "ui/panels/tinted_text.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gpu/files/utf8.h"
#include "ui/images/colour_bar.h"
#include "ui/panels/text_rows.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr char32_t kLastOfFont = 0xFFFF, kReplacement = 0xFFFD;
constexpr float kLeastPart = 0.02f;  // of the largest share: less is not seen
constexpr std::u32string_view kMore = U"...";

/// Dear ImGui's fonts end with the first plane.
char32_t drawable(char32_t point) {
  return point > kLastOfFont ? kReplacement : point;
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

}  // namespace

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
  tooltip(
      frame,
      "Gradient x input: what each character, as the network reads it, does for the score of the class that "
      "the "
      "text is taken for, or for the class that was clicked on. Orange speaks for it, blue against it; the "
      "strongest colour is the largest share of the text.");
}

float share_legend_width(const Frame& frame, const std::string& low, const std::string& high, float width) {
  return images::colour_bar_width(frame, bar_of(frame, low, high), width);
}

}  // namespace warpscope::ui
