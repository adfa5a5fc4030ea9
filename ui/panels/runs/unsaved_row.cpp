#include "ui/panels/runs/unsaved_row.h"

#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kMargin = 4;  // design pixels, above and below the buttons
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

float UnsavedRow::height(const Frame& frame) const {
  return text_.empty() ? 0 : ImGui::GetFrameHeight() / frame.scale + 2 * kMargin;
}

bool UnsavedRow::draw(const Frame& frame) {
  const float s = frame.scale, pad = std::floor(12 * s);
  begin_news_row(frame, "unsaved", pad, ImGuiWindowFlags_NoFocusOnAppearing);
  const float button = text_button_width(frame, kTake), close = ImGui::GetFrameHeight();
  const float room = ImGui::GetWindowWidth() - button - close - 4 * pad;
  row_text(frame, frame.fonts.text, frame.palette.text,
           ellipsize(frame.fonts.text, "Kept when you left it: " + text_, room));
  trace_item("unsaved.text");
  ImGui::SameLine(0, pad);
  const bool taken = text_button(frame, "unsaved.go_on", kTake,
                                 "Leaves the present training and goes on where that one was left");
  ImGui::SameLine(ImGui::GetWindowWidth() - pad - close);
  const bool dismissed = icon_button(frame, "unsaved.close", Icon::close,
                                     "Dismiss; the command palette (Ctrl+P) offers it all the time");
  if (taken || dismissed) text_.clear();
  ImGui::End();
  return taken;
}

}  // namespace warpscope::ui
