#include "ui/panels/start/challenge_strip.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/panels/panel_table.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// Design pixels: above and below the buttons, and the bar.
constexpr float kAroundButtons = 4, kBarRoom = 120;

}  // namespace

void ChallengeStrip::begin(const Frame& frame, const ChallengeRow& row) {
  challenge_.emplace(row, frame.snapshot);
  for (training::Command& command : row.begin(frame.snapshot)) frame.send(std::move(command));
}

void ChallengeStrip::follow(const Frame& frame) {
  if (!challenge_) return;
  for (training::Command& command : challenge_->follow(frame.snapshot)) frame.send(std::move(command));
  trace_change(traced_, "challenge",
               fmt::format("\"id\":{},\"done\":{},\"text\":{}", json_string(challenge_->row().id),
                           challenge_->done(), json_string(challenge_->told())));
}

float ChallengeStrip::height(const Frame& frame) const {
  return challenge_ ? ImGui::GetFrameHeight() / frame.scale + 2 * kAroundButtons : 0;
}

const char* ChallengeStrip::draw(const Frame& frame) {
  const float s = frame.scale, pad = std::floor(12 * s);
  const ChallengeRow& row = challenge_->row();
  begin_news_row(frame, "challenge", pad, ImGuiWindowFlags_NoFocusOnAppearing);
  const PanelRow* const panel = find_panel(row.panel);
  const std::string show = panel == nullptr ? "" : fmt::format("Show {}", panel->title);
  const char* const end = challenge_->done() ? "Well done" : "End";
  const float buttons = text_button_width(frame, show) + text_button_width(frame, end) + 2 * pad;
  const float room = ImGui::GetWindowWidth() - buttons - kBarRoom * s - 4 * pad;
  row_text(frame, frame.fonts.text, challenge_->done() ? frame.palette.good : frame.palette.text,
           ellipsize(frame.fonts.text, challenge_->line(), std::max(room, 1.0f)));
  trace_item("challenge.text");
  tooltip(frame, row.goal);
  ImGui::SameLine(ImGui::GetWindowWidth() - pad - buttons - kBarRoom * s);
  progress_bar(frame, "challenge.part", std::floor(kBarRoom * s),
               static_cast<float>(std::clamp(challenge_->part(), 0.0, 1.0)));
  ImGui::SameLine(0, pad);
  const bool asked = panel != nullptr && text_button(frame, "challenge.show", show.c_str(), row.goal);
  ImGui::SameLine(0, pad);
  const bool ended =
      text_button(frame, "challenge.end", end, "The training goes on as it is; Ctrl Z takes changes back");
  ImGui::End();
  const char* const shown = asked ? row.panel : nullptr;
  if (ended) challenge_.reset();
  return shown;
}

}  // namespace warpscope::ui
