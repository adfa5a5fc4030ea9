#include "ui/panels/prediction_texts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "gpu/files/utf8.h"
#include "ui/numbers.h"
#include "ui/panels/confusion_figures.h"
#include "ui/panels/prediction_cell.h"
#include "ui/paragraph.h"
#include "ui/pointing.h"
#include "ui/trace.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kCaption = 150, kGap = 16, kPadding = 5;  // design pixels
constexpr std::size_t kLines = 2;                         // of a text in its row
// Of a text that is longer in a tool-tip; what a network reads is seldom more.
constexpr std::size_t kMostTipCharacters = 1200;

/// As many lines as have room; the last one ends with "..." if there are more.
std::vector<std::string> lines_of(const ImFont* font, std::string_view text, float width) {
  std::vector<std::string> lines = wrap(font, text, width);
  for (std::string& line : lines) line = ellipsize(font, line, width);  // of a word that is wider
  if (lines.size() <= kLines) return lines;
  lines[kLines - 1] = ellipsize(font, fmt::format("{} {}...", lines[kLines - 1], lines[kLines]), width);
  lines.resize(kLines);
  return lines;
}

std::string tip_of(const HeldOut& held_out, int image) {
  std::string text = held_out.text(image);
  if (text.size() > kMostTipCharacters) {
    text = fmt::format("{}...", files::valid_utf8(std::string_view(text).substr(0, kMostTipCharacters)));
  }
  return fmt::format(
      "{}\n\n{}: {}, taken for {}; loss {} nats; probability of the truth {}; number {} of the {} set.", text,
      held_out.right(image) ? "Right" : "Wrong", held_out.class_name(held_out.truth(image)),
      held_out.class_name(held_out.predicted(image)), loss_text(held_out.loss(image)),
      percent_text(held_out.probability_of_truth(image)), with_thousands(held_out.position(image)),
      training::to_string(held_out.evaluation->split));
}

struct RowPlace {
  ImVec2 min, max;
};

void draw_row(const Frame& frame, const HeldOut& held_out, int image, const RowPlace& place) {
  const float s = frame.scale;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float caption = std::min(std::floor(kCaption * s), (place.max.x - place.min.x) / 2);
  const float top = place.min.y + std::floor(kPadding * s);
  draw_prediction(frame, held_out, image, ImVec2(place.min.x + 2 * s, top), caption - 2 * s);
  const ImFont* const font = frame.fonts.text;
  const float left = place.min.x + caption + std::floor(kGap * s), line = prediction_height(frame) / kLines;
  float baseline = top + (line - font_size(font)) / 2 + font->Ascent * ImGui::GetIO().FontGlobalScale;
  for (const std::string& each : lines_of(font, held_out.text(image), std::max(1.0f, place.max.x - left))) {
    draw_text(list, font, left, baseline, held_out.right(image) ? frame.palette.muted : frame.palette.text,
              each);
    baseline += line;
  }
  const auto test_image = held_out.test_image(image);
  if (test_image && is_pointed_at_image(frame, *test_image)) {
    list->AddRect(place.min, place.max, frame.palette.accent, 0, 0, std::max(1.0f, std::floor(2 * s)));
  }
}

}  // namespace

std::optional<int> draw_prediction_texts(const Frame& frame, const HeldOut& held_out,
                                         std::span<const int> order, bool scroll_to_start) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  ImGui::BeginChild("predictions.texts", ImVec2(room.x, std::max(1.0f, room.y)), false,
                    ImGuiWindowFlags_NoNav);
  if (scroll_to_start) ImGui::SetScrollY(0);
  const float pitch = prediction_height(frame) + 2 * std::floor(kPadding * frame.scale);
  const float width = std::max(1.0f, room.x - ImGui::GetStyle().ScrollbarSize);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const auto first = static_cast<std::size_t>(std::max(0.0f, ImGui::GetScrollY() / pitch));
  const auto end = std::min(order.size(), first + static_cast<std::size_t>(std::ceil(room.y / pitch)) + 1);
  std::optional<int> hit;
  for (std::size_t row = first; row < end; ++row) {
    const float top = origin.y + static_cast<float>(row) * pitch;
    const RowPlace place{{origin.x, top}, {origin.x + width, top + pitch}};
    const bool hovered = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(place.min, place.max);
    if (hovered) {
      hit = order[row];
      ImGui::GetWindowDrawList()->AddRectFilled(place.min, place.max,
                                                ImGui::GetColorU32(ImGuiCol_HeaderHovered));
    }
    draw_row(frame, held_out, order[row], place);
    if (trace_enabled()) trace_rectangle(fmt::format("predictions.text.{}", row), place.min, place.max);
  }
  if (hit && !ImGui::IsMouseDown(ImGuiMouseButton_Left)) pointer_tip(frame, tip_of(held_out, *hit));
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy(ImVec2(1, pitch * static_cast<float>(order.size())));
  ImGui::EndChild();
  return hit;
}

}  // namespace warpscope::ui
