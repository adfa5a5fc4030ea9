#include "ui/panels/runs/view_strip.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>

#include <fmt/format.h>

#include "ui/panels/runs/pinned_checkpoint.h"
#include "ui/panels/toolbar.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kHeight = 28, kChoiceWidth = 320;

using Pinned = std::optional<std::uint64_t>;

std::string checkpoint_text(std::uint64_t step) {
  return fmt::format("checkpoint at step {}", with_thousands(step));
}

// Whose activations, distributions, latents, predictions and features are shown.
void draw_checkpoints(const Frame& frame, const training::Revival& revival, Pinned pinned, float width) {
  const std::string tip =
      revival.problem.empty()
          ? "The checkpoint that views of the inside are computed from, on this machine, once one of them "
            "asks: activations, distributions, latents, maps, features, predictions, the same step twice. "
            "The newest one gives way to each newer one. A pinned step chooses the one that is nearest."
          : why_no_look(frame.snapshot, "");
  if (!begin_combo(frame, "view.checkpoint", checkpoint_line(revival, pinned), width, tip)) return;
  const auto item = [&](std::uint64_t step, const std::string& text) {
    const std::string name = fmt::format("view.checkpoint={}", step);
    if (combo_item(frame, name.c_str(), text.c_str(), step == revival.chosen, "",
                   why_no_checkpoint_look(revival, step)))
      frame.send(training::LookAt{step});
  };
  item(0, "newest checkpoint");
  for (const std::uint64_t step : std::views::reverse(revival.steps)) item(step, checkpoint_text(step));
  end_combo();
}

// The end of a path tells more than its start.
std::string fitting_end(const ImFont* font, const std::string& path, float room) {
  if (text_width(font, path) <= room) return path;
  std::string_view rest(path);
  while (!rest.empty() && text_width(font, "..." + std::string(rest)) > room) {
    rest.remove_prefix(1);
    while (!rest.empty() && (static_cast<unsigned char>(rest.front()) & 0xC0) == 0x80) rest.remove_prefix(1);
  }
  return "..." + std::string(rest);
}

}  // namespace

float view_strip_height(const Frame& frame) {
  return frame.snapshot.can.steer ? 0 : kHeight;
}

void draw_view_strip(const Frame& frame, std::optional<std::uint64_t> pinned) {
  if (frame.snapshot.can.steer) return;
  const float s = frame.scale;
  const auto& snapshot = frame.snapshot;
  begin_news_row(frame, "view", 12 * s);
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const float top = ImGui::GetCursorScreenPos().y, gap = 8 * s;
  const float baseline = row_baseline(frame, top), margin = 12 * s;
  const float choice = snapshot.revival ? std::min(kChoiceWidth * s, size.x / 3) : 0;
  const float right = at.x + size.x - margin - (choice > 0 ? choice + gap : 0);
  const std::string state = ellipsize(frame.fonts.text, snapshot.can.why_not, (right - at.x - margin) / 2);
  auto* const list = ImGui::GetWindowDrawList();
  float x =
      advance_text(list, frame.fonts.strong, at.x + 12 * s, baseline, frame.palette.accent, "Viewing") + gap;
  const float room = right - x - 2 * gap - 12 * s - text_width(frame.fonts.text, state);
  x = advance_text(list, frame.fonts.text, x, baseline, frame.palette.text,
                   fitting_end(frame.fonts.text, snapshot.run_dir, std::max(room, 0.0f))) +
      2 * gap;
  list->AddCircleFilled(ImVec2(x, top + ImGui::GetFrameHeight() / 2), 3.5f * s, state_color(frame), 16);
  draw_text(list, frame.fonts.text, x + 12 * s, baseline, frame.palette.text, state);
  ImGui::Dummy(ImVec2(std::max(1.0f, right - at.x - margin), ImGui::GetFrameHeight()));
  trace_item("view.strip");
  tooltip(frame,
          fmt::format("{}: {}.\n{}{}", snapshot.run_dir, snapshot.can.why_not,
                      snapshot.can.files ? "This window reads the run folder and writes nothing. " : "",
                      snapshot.state == training::TrainerState::finished
                          ? "It has ended: another window goes on with it, or warpscope train --resume."
                          : "What steers the training is disabled: it belongs to the process that trains."));
  if (choice > 0) {
    ImGui::SameLine(0, gap);
    draw_checkpoints(frame, *snapshot.revival, pinned, choice);
  }
  ImGui::End();
}

}  // namespace warpscope::ui
