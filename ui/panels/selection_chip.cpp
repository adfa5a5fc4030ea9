#include "ui/panels/selection_chip.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kCross = 14, kBesideText = 26;  // design pixels

}  // namespace

bool is_selected(std::span<const std::int64_t> selected, std::int64_t image) {
  return selected.empty() || std::binary_search(selected.begin(), selected.end(), image);
}

std::string selected_text(std::uint64_t count, std::uint64_t total) {
  return fmt::format("{} of {} selected", with_thousands(count), with_thousands(total));
}

std::string none_selected_text(std::size_t selected, std::uint64_t total) {
  return fmt::format(
      "None of the {} images here is among the {} that are selected in Latent. Clear the selection (Esc), or "
      "draw the lasso around others.",
      with_thousands(total), with_thousands(selected));
}

float chip_width(const Frame& frame, std::string_view text) {
  return text_width(frame.fonts.text, text) + (kCross + kBesideText) * frame.scale;
}

bool chip(const Frame& frame, const char* name, std::string_view text, float room, std::string_view tip) {
  const float s = frame.scale, cross = kCross * s, height = ImGui::GetFrameHeight();
  const std::string shown =
      ellipsize(frame.fonts.text, text, std::max(48 * s, room - cross - (kBesideText + 2) * s));
  const bool clicked = hit_area(name, ImVec2(chip_width(frame, shown), height));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  const bool hovered = ImGui::IsItemHovered();
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min, max, blend(frame.palette.accent, frame.palette.panel, hovered ? 0.35f : 0.22f),
                      height / 2);
  draw_text(list, frame.fonts.text, min.x + 10 * s, row_baseline(frame, min.y), frame.palette.text, shown);
  const ImVec2 icon(max.x - cross - 8 * s, std::floor(min.y + (height - cross) / 2));
  draw_icon(list, Icon::close, icon, ImVec2(icon.x + cross, icon.y + cross), frame.palette.text);
  trace_item(name);
  tooltip(frame, tip);
  return clicked;
}

bool selection_chip(const Frame& frame, const char* name, std::uint64_t count, std::uint64_t total,
                    float room) {
  if (frame.cursor == nullptr || frame.cursor->images.empty()) return false;
  const std::string tip = fmt::format(
      "{} test images are selected by the lasso in Latent; {} of the {} images of this view are among them, "
      "and only those count here. Click, or Esc: all images again.",
      with_thousands(frame.cursor->images.size()), with_thousands(count), with_thousands(total));
  if (!chip(frame, name, selected_text(count, total), room, said_of_data(frame, tip))) return false;
  frame.cursor->images.clear();
  return true;
}

}  // namespace warpscope::ui
