#include "ui/text/paragraph.h"

#include <algorithm>
#include <cmath>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

float line_height(const ImFont* font) {
  return std::floor(1.2f * font_size(font));
}

}  // namespace

std::string sentence(std::string text) {
  if (text.empty()) return text;
  if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text.back() == '.' ? text : text + ".";
}

std::vector<std::string> wrap(const ImFont* font, std::string_view text, float width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::string longer = lines.empty() ? std::string(word) : lines.back() + " " + std::string(word);
    if (!lines.empty() && text_width(font, longer) <= width) {
      lines.back() = longer;
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

float paragraph_height(const ImFont* font, std::string_view text, float width) {
  return line_height(font) * static_cast<float>(wrap(font, text, width).size());
}

void paragraph(const ImFont* font, ImU32 color, std::string_view text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x), line = line_height(font);
  const float ascent = font->Ascent * ImGui::GetIO().FontGlobalScale;
  float baseline = at.y + (line - font_size(font)) / 2 + ascent;
  const auto lines = wrap(font, text, width);
  for (const std::string& each : lines) {
    draw_text(ImGui::GetWindowDrawList(), font, at.x, baseline, color, each);
    baseline += line;
  }
  ImGui::Dummy(ImVec2(width, line * static_cast<float>(lines.size())));
}

}  // namespace warpscope::ui
