#include "ui/panels/tour_box.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kTourWidth = 380;

// Beside the area where there is room: below, above, right, left; else over its lower end.
ImVec2 place_beside(const Area& about, ImVec2 size, float gap) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float middle = about.x + (about.w - size.x) / 2;
  const float x = std::clamp(middle, gap, std::max(gap, display.x - size.x - gap));
  if (about.bottom() + gap + size.y <= display.y) return {x, about.bottom() + gap};
  if (about.y - gap - size.y >= 0) return {x, about.y - gap - size.y};
  const float y = std::clamp(about.y, gap, std::max(gap, display.y - size.y - gap));
  if (about.right() + gap + size.x <= display.x) return {about.right() + gap, y};
  if (about.x - gap - size.x >= 0) return {about.x - gap - size.x, y};
  return {x, about.bottom() - size.y - gap};
}

void draw_buttons(const Frame& frame, Tour& tour) {
  const std::size_t place = *tour.place(), count = tour_stops().size();
  const bool last = place + 1 == count;
  const char* const next = last ? "Done" : "Next";
  caption(frame, fmt::format("{} of {}", place + 1, count));
  const float gap = 8 * frame.scale;
  float width = text_button_width(frame, next) + text_button_width(frame, "Back") + gap;
  if (!last) width += text_button_width(frame, "Skip") + gap;
  ImGui::SameLine();
  align_right(frame, width);
  if (!last) {
    if (text_button(frame, "tour.skip", "Skip", "End the tour; \"tour\" in the palette takes it again"))
      tour.end();
    ImGui::SameLine(0, gap);
  }
  if (text_button(frame, "tour.back", "Back", "", place > 0)) tour.back();
  ImGui::SameLine(0, gap);
  if (text_button(frame, "tour.next", next, "")) tour.next();
}

}  // namespace

void draw_tour(const Frame& frame, Tour& tour, const Area& about) {
  const TourStop* const stop = tour.stop();
  if (stop == nullptr) return;
  const float s = frame.scale, width = std::floor(kTourWidth * s);
  const ImVec2 padding(16 * s, 12 * s);
  const ImVec2 text = ImGui::CalcTextSize(stop->text, nullptr, false, width - 2 * padding.x);
  const float rows = 2 * ImGui::GetFrameHeight() + 2 * 8 * s;
  const ImVec2 size(width, std::ceil(text.y + rows + 2 * padding.y));
  ImGui::GetForegroundDrawList()->AddRect(ImVec2(about.x, about.y), ImVec2(about.right(), about.bottom()),
                                          frame.palette.accent, 4 * s, 0, std::max(1.0f, 2 * s));
  const ImVec2 at = place_beside(about, size, std::floor(8 * s));
  ImGui::SetNextWindowPos(ImVec2(std::floor(at.x), std::floor(at.y)));
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, padding);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, hairline(frame));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 8 * s));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, frame.palette.popup);
  ImGui::PushStyleColor(ImGuiCol_Border, frame.palette.accent);
  ImGui::Begin("tour", nullptr, kStillWindow | ImGuiWindowFlags_NoFocusOnAppearing);
  row_text(frame, frame.fonts.strong, frame.palette.text, stop->title);
  ImGui::PushTextWrapPos(width - padding.x);
  ImGui::TextUnformatted(stop->text);
  ImGui::PopTextWrapPos();
  draw_buttons(frame, tour);
  ImGui::End();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
}

}  // namespace warpscope::ui
