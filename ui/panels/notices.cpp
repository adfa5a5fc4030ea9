#include "ui/panels/notices.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/widgets.h"

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

}  // namespace

void Notices::show(std::string text, training::LogLevel level) {
  text_ = std::move(text);
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

void Notices::draw_bar(const Frame& frame) {
  const float s = frame.scale;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::min(480 * s, display.x - 32 * s), button = ImGui::GetFrameHeight();
  const float left = 16 * s, top = 10 * s, wrap = width - left - button - 20 * s;
  const ImVec2 text_size =
      frame.fonts.text->CalcTextSizeA(font_size(frame.fonts.text), FLT_MAX, wrap, text_.c_str());
  const float height = std::max(text_size.y, button) + 2 * top;
  ImGui::SetNextWindowPos(
      ImVec2(std::floor(display.x - width - 16 * s), std::floor(display.y - 40 * s - height)));
  ImGui::SetNextWindowSize(ImVec2(width, height));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, std::max(1.0f, std::floor(s)));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::Begin("notice", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  const ImVec2 at = ImGui::GetWindowPos();
  ImGui::GetWindowDrawList()->AddRectFilled(at, ImVec2(at.x + 4 * s, at.y + height), bar_color(frame, level_),
                                            4 * s, ImDrawFlags_RoundCornersLeft);
  ImGui::SetCursorPos(ImVec2(left, std::floor((height - text_size.y) / 2)));
  ImGui::PushTextWrapPos(left + wrap);
  ImGui::TextUnformatted(text_.c_str());
  ImGui::PopTextWrapPos();
  trace_item("notice.text");
  if (ImGui::IsWindowHovered()) until_ = std::max(until_, ImGui::GetTime() + 2);
  ImGui::SetCursorPos(ImVec2(width - button - 8 * s, std::floor((height - button) / 2)));
  if (icon_button(frame, "notice.close", Icon::close, "Dismiss")) text_.clear();
  ImGui::End();
}

}  // namespace warpscope::ui
