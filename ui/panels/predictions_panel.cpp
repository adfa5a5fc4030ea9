#include "ui/panels/predictions_panel.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/panels/data_texts.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 2> kTabs{"Predictions", "Confusion"};

}  // namespace

std::span<const char* const> PredictionsPanel::tabs() {
  return kTabs;
}

void PredictionsPanel::shutdown() {
  grid_.shutdown();
  matrix_.shutdown();
  follower_ = {};
}

void PredictionsPanel::draw_title(const Frame& frame) {
  const float s = frame.scale;
  const auto& evaluation = *follower_.shown().evaluation;
  const std::uint64_t evaluated = follower_.shown().evaluated();
  const std::string_view split = training::to_string(evaluation.split);
  const std::string accuracy = fmt::format("{:.2f}", 100 * evaluation.accuracy),
                    step = with_thousands(evaluation.step);
  const auto room = [&] { return title_end(frame) - ImGui::GetCursorPosX(); };
  const float accuracy_width =
      text_width(frame.fonts.numbers, accuracy) + text_width(frame.fonts.small, "% accuracy") + 5 * s;
  const float step_width =
      text_width(frame.fonts.small, "step") + text_width(frame.fonts.numbers, step) + 22 * s;
  if (room() >= step_width + accuracy_width) {
    caption(frame, "step");
    ImGui::SameLine(0, 6 * s);
    value_with_unit(frame, step, "",
                    said_of_data(frame, "The training step after which the network looked at these images."));
    ImGui::SameLine(0, 16 * s);
  }
  if (room() >= accuracy_width) {
    value_with_unit(
        frame, accuracy, "% accuracy",
        fmt::format("Part of the {} {} {}s whose most probable class is their truth, at step {}.{}",
                    with_thousands(evaluated), split, follower_.shown().thing(), step,
                    views_sentence(frame.snapshot)));
    ImGui::SameLine(0, 16 * s);
  }
  if (tab_ == kPredictions && !follower_.shown().has_texts()) grid_.draw_zoom(frame);
}

void PredictionsPanel::draw(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const bool still = tab_ == kPredictions && grid_.looked_at();
  follower_.update({snapshot.evaluation, snapshot.data}, snapshot.generation, ImGui::GetTime(), still);
  const HeldOut& held_out = follower_.shown();
  if (panel_tabs(frame, "images", kTabs, &tab_)) grid_.left_alone();
  // The view of another process's run has the figures without the images.
  const bool images = held_out.count() > 0;
  const bool figures = held_out.evaluation && held_out.evaluation->classes > 0;
  if (images || figures) draw_title(frame);
  panel_body(frame, false);
  if (tab_ == kPredictions && snapshot.data && snapshot.data->test.texts) typed_.draw(frame);
  if (!images && !(figures && tab_ == kConfusion)) {
    grid_.left_alone();
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    trace_rectangle("images.empty", at, ImVec2(at.x + room.x, at.y + room.y));
    centered_text(frame, said_of_data(frame, no_predictions_text(snapshot)));
  } else if (tab_ == kPredictions) {
    grid_.draw(frame, held_out, follower_.held());
  } else if (const auto clicked = matrix_.draw(frame, held_out); clicked && images) {
    grid_.show_pair(clicked->truth, clicked->predicted);
    tab_ = kPredictions;
  }
}

}  // namespace warpscope::ui
