#include "ui/panels/notices.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr double kSecondsShown = 15;

ImU32 bar_color(const Frame& frame, training::LogLevel level) {
  switch (level) {
    case training::LogLevel::info:
      return frame.palette.accent;
    case training::LogLevel::warning:
      return frame.palette.warning;
    case training::LogLevel::error:
      return frame.palette.error;
  }
  return frame.palette.accent;
}

// True if the divergence box is open and says the same.
bool told_elsewhere(const training::Snapshot& snapshot) {
  return snapshot.state == training::TrainerState::paused && !snapshot.divergence.text.empty() &&
         snapshot.notice.starts_with(snapshot.divergence.text);
}

/// Scrolls where it is longer than the room.
void draw_body(const std::string& text, ImVec2 size) {
  ImGui::BeginChild("notice.body", size, false, ImGuiWindowFlags_NoNav);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  trace_item("notice.text");
  ImGui::EndChild();
}

}  // namespace

void Notices::show(std::string text, training::LogLevel level, std::string details) {
  text_ = std::move(text);
  details_ = std::move(details);
  offer_.clear();
  unfolded_ = false;
  level_ = level;
  stays_ = quiet_ = false;
  until_ = ImGui::GetTime() + kSecondsShown;
}

bool Notices::draw(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const bool fresh = snapshot.notice_id != last_id_;
  if (fresh) {
    last_id_ = snapshot.notice_id;
    const bool failed = snapshot.state == training::TrainerState::failed;
    show(snapshot.notice, failed ? training::LogLevel::error : training::LogLevel::warning);
    stays_ = failed;
    quiet_ = told_elsewhere(snapshot);
  }
  if (!stays_ && ImGui::GetTime() >= until_) text_.clear();
  if (!text_.empty() && !stays_) redraw_at(frame, until_);
  if (!text_.empty() && !quiet_) draw_bar(frame);
  return fresh && !snapshot.notice.empty();
}

void Notices::draw_buttons(const Frame& frame) {
  if (!details_.empty()) toggle(frame, "notice.details", "details", &unfolded_, "Show or hide each change");
  if (!details_.empty() && !offer_.empty()) ImGui::SameLine(0, 8 * frame.scale);
  if (offer_.empty() || !text_button(frame, "notice.offer", offer_.c_str(), offer_tip_)) return;
  taken_ = true;
  text_.clear();
  redraw_at(frame, ImGui::GetTime());
}

void Notices::draw_bar(const Frame& frame) {
  const float s = frame.scale;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::min(480 * s, display.x - 32 * s), button = ImGui::GetFrameHeight();
  const float left = 16 * s, top = 10 * s, wrap = width - left - button - 20 * s;
  // The scroll bar, where there is one, takes a part of the width.
  const float narrow = wrap - ImGui::GetStyle().ScrollbarSize;
  const std::string text =
      wrapped(frame.fonts.text, unfolded_ ? fmt::format("{}\n{}", text_, details_) : text_, narrow);
  const ImVec2 text_size = ImGui::CalcTextSize(text.c_str(), nullptr, false, narrow);
  const bool buttons = !details_.empty() || !offer_.empty();
  const float more = buttons ? button + 4 * s : 0;
  const float room = std::max(button, std::floor(display.y / 3) - 2 * top - more);
  const float tall = std::min(text_size.y, room);
  const float height = std::max(tall + more, button) + 2 * top;
  ImGui::SetNextWindowPos(
      ImVec2(std::floor(display.x - width - 16 * s), std::floor(display.y - 40 * s - height)));
  ImGui::SetNextWindowSize(ImVec2(width, height));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, std::max(1.0f, std::floor(s)));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::Begin("notice", nullptr, kStillWindow | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleColor();
  const ImVec2 at = ImGui::GetWindowPos();
  ImGui::GetWindowDrawList()->AddRectFilled(at, ImVec2(at.x + 4 * s, at.y + height), bar_color(frame, level_),
                                            4 * s, ImDrawFlags_RoundCornersLeft);
  ImGui::SetCursorPos(ImVec2(left, std::floor((height - tall - more) / 2)));
  draw_body(text, ImVec2(wrap, tall));
  ImGui::PopStyleVar(2);
  if (buttons) {
    ImGui::SetCursorPosX(left);
    draw_buttons(frame);
  }
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) || unfolded_)
    until_ = std::max(until_, ImGui::GetTime() + 2);
  ImGui::SetCursorPos(ImVec2(width - button - 8 * s, std::floor((height - button) / 2)));
  if (icon_button(frame, "notice.close", Icon::close, "Dismiss")) text_.clear();
  trace_rectangle("notice", at, ImVec2(at.x + width, at.y + height));
  ImGui::End();
}

}  // namespace warpscope::ui
