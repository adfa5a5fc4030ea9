#include "ui/panels/start/tour_box.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/panels/kernels/own_kernel_details.h"
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
  const std::size_t place = *tour.place(), count = tour.stops().size();
  const bool last = place + 1 == count;
  const char* const next = last ? "Done" : "Next";
  caption(frame, fmt::format("{} of {}", place + 1, count));
  const float gap = 8 * frame.scale;
  float width = text_button_width(frame, next) + text_button_width(frame, "Back") + gap;
  if (!last) width += text_button_width(frame, "Skip") + gap;
  ImGui::SameLine();
  align_right(frame, width);
  if (!last) {
    if (text_button(frame, "tour.skip", "Skip", "End it; \"tour\" and \"lesson\" in the palette begin anew"))
      tour.end();
    ImGui::SameLine(0, gap);
  }
  if (text_button(frame, "tour.back", "Back", "", place > 0)) tour.back();
  ImGui::SameLine(0, gap);
  if (text_button(frame, "tour.next", next, "")) tour.next();
}

/// True if the file is to be made.
bool draw_lesson(const Frame& frame, const LessonRow& lesson) {
  const bool pressed =
      text_button(frame, "tour.make", "Make it",
                  lesson.why_not.empty() ? "Writes the file into the folder warpscope_lesson, loads it, "
                                           "and lets it run once it is proved. One that is there already is "
                                           "only loaded"
                                         : lesson.why_not,
                  lesson.why_not.empty());
  ImGui::SameLine(0, std::floor(8 * frame.scale));
  const float room = ImGui::GetContentRegionAvail().x;
  const std::string& said = lesson.said.text.empty() ? lesson.why_not : lesson.said.text;
  row_text(frame, frame.fonts.small, tone_color(frame, lesson.said.tone),
           ellipsize(frame.fonts.small, said, room));
  tooltip(frame, said);
  trace_item("tour.said");
  return pressed;
}

}  // namespace

bool draw_tour(const Frame& frame, Tour& tour, const Area& about, const LessonRow* lesson) {
  const TourStop* const stop = tour.stop();
  if (stop == nullptr) return false;
  const float s = frame.scale, width = std::floor(kTourWidth * s);
  const ImVec2 padding(16 * s, 12 * s);
  const ImVec2 text = ImGui::CalcTextSize(stop->text.c_str(), nullptr, false, width - 2 * padding.x);
  const float number = lesson == nullptr ? 2 : 3;
  const float rows = number * (ImGui::GetFrameHeight() + 8 * s);
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
  ImGui::TextUnformatted(stop->text.c_str());
  ImGui::PopTextWrapPos();
  const bool made = lesson != nullptr && draw_lesson(frame, *lesson);
  draw_buttons(frame, tour);
  ImGui::End();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
  return made;
}

}  // namespace warpscope::ui
