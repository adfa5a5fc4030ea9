#include "ui/panels/unsaved_box.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr double kSecondsShown = 30;
constexpr const char* kTake = "Go on with it";

}  // namespace

std::string unsaved_text(const runs::UnsavedTraining& training, std::int64_t now) {
  const std::tm written = fmt::localtime(static_cast<std::time_t>(training.written));
  const std::tm today = fmt::localtime(static_cast<std::time_t>(now));
  const bool same_day = written.tm_year == today.tm_year && written.tm_yday == today.tm_yday;
  const std::string time =
      same_day ? fmt::format("{:%H:%M}", written) : fmt::format("{:%Y-%m-%d %H:%M}", written);
  return fmt::format("the training of {}: {}, step {}", time, training.model, with_thousands(training.step));
}

bool UnsavedBox::draw(const Frame& frame, float top) {
  if (text_.empty()) return false;
  if (until_ == 0) until_ = ImGui::GetTime() + kSecondsShown;
  if (ImGui::GetTime() >= until_) {
    text_.clear();
    return false;
  }
  redraw_at(frame, until_);
  const float s = frame.scale, pad = std::floor(12 * s);
  const std::string text = "Not recorded when its window closed: " + text_;
  const float button = text_button_width(frame, kTake), close = ImGui::GetFrameHeight();
  const float room = ImGui::GetIO().DisplaySize.x - 32 * s - 4 * pad - button - close;
  const std::string shown = ellipsize(frame.fonts.text, text, room);
  const float width = text_width(frame.fonts.text, shown) + button + close + 4 * pad;
  ImGui::SetNextWindowPos(
      ImVec2(std::floor((ImGui::GetIO().DisplaySize.x - width) / 2), std::floor(top + 8 * s)));
  ImGui::SetNextWindowSize(ImVec2(width, ImGui::GetFrameHeight() + 2 * std::floor(8 * s)));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(pad, std::floor(8 * s)));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, std::max(1.0f, std::floor(s)));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::Begin("unsaved", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  if (ImGui::IsWindowHovered()) until_ = std::max(until_, ImGui::GetTime() + 5);
  row_text(frame, frame.fonts.text, frame.palette.text, shown);
  trace_item("unsaved.text");
  ImGui::SameLine(0, pad);
  const bool taken =
      text_button(frame, "unsaved.go_on", kTake,
                  "Leaves the training that has just begun and goes on where that one was left");
  ImGui::SameLine(0, pad);
  const bool dismissed = icon_button(frame, "unsaved.close", Icon::close,
                                     "Dismiss; the command palette (Ctrl+P) offers it all the time");
  if (taken || dismissed) text_.clear();
  ImGui::End();
  return taken;
}

}  // namespace warpscope::ui
