#include "ui/panels/curves/divergence_box.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kWidth = 480, kPad = 12;  // design pixels

std::string back_text(const training::Divergence& divergence) {
  return divergence.can_roll_back ? fmt::format("Go back, rate {:g}", divergence.back_rate) : "Go back";
}

std::string back_tip(const training::Snapshot& snapshot) {
  const training::Divergence& divergence = snapshot.divergence;
  if (!divergence.can_roll_back) return why_no_way_back(snapshot);
  const bool halved = 2 * divergence.back_rate == snapshot.settings->optimizer.learning_rate;
  return fmt::format("The weights of step {}, at {} learning rate of {:g}{}, and on.",
                     with_thousands(divergence.back_step), halved ? "a" : "their", divergence.back_rate,
                     halved ? ", half of the one that failed"
                            : fmt::format(" instead of {:g}", snapshot.settings->optimizer.learning_rate));
}

void draw_choices(const Frame& frame) {
  const Steering steering(frame);
  const auto& divergence = frame.snapshot.divergence;
  const float s = frame.scale;
  if (text_button(frame, "divergence.back", back_text(divergence).c_str(), back_tip(frame.snapshot),
                  divergence.can_roll_back)) {
    frame.send(training::RollBack{});
  }
  ImGui::SameLine(0, 8 * s);
  if (text_button(frame, "divergence.resume", "Go on all the same",
                  "Trains on with the weights as they are. Weights that are not finite do not recover.")) {
    frame.send(training::Resume{});
  }
  ImGui::SameLine(0, 8 * s);
  if (text_button(frame, "divergence.reset", "Reset",
                  "The first weights again, step 0. The curve stays in the plot to compare with; undo brings "
                  "the training back.")) {
    frame.send(training::Reset{});
  }
}

}  // namespace

std::string why_no_way_back(const training::Snapshot& snapshot) {
  const training::Divergence& divergence = snapshot.divergence;
  const auto is_before = [&](const training::LeftTraining& left) {
    return left.step == divergence.back_step;
  };
  if (divergence.back_rate > 0 && std::any_of(snapshot.left->begin(), snapshot.left->end(), is_before)) {
    return fmt::format(
        "The weights of step {} belong to a training that you have left: Undo (Ctrl+Z) leads back to it.",
        with_thousands(divergence.back_step));
  }
  return "There are no weights from before it to go back to: they are kept every few seconds, and not across "
         "another optimizer.";
}

void DivergenceBox::draw_title(const Frame& frame, float width) {
  const float s = frame.scale;
  row_text(frame, frame.fonts.strong, frame.palette.text, "Training is paused");
  ImGui::SameLine(0, 10 * s);
  caption(frame, fmt::format("at step {}", with_thousands(frame.snapshot.step)));
  ImGui::SameLine(width - (kPad - 4) * s - ImGui::GetFrameHeight());
  if (icon_button(frame, "divergence.fold", folded_ ? Icon::up : Icon::down,
                  folded_ ? "What happened, and what to do" : "Fold: the training stays paused")) {
    folded_ = !folded_;
  }
}

void DivergenceBox::draw(const Frame& frame, ImVec2 corner) {
  const auto& divergence = frame.snapshot.divergence;
  const bool open = watch_.open(frame.snapshot);
  if (open != open_ || (open && divergence.id != drawn_id_)) {
    trace_event("divergence",
                fmt::format("\"open\":{},\"id\":{},\"can_roll_back\":{},\"text\":{}", open, divergence.id,
                            divergence.can_roll_back, json_string(divergence.text)));
  }
  if (divergence.id != drawn_id_) folded_ = false;
  open_ = open;
  drawn_id_ = divergence.id;
  if (!open) return;
  const float s = frame.scale, bar = 4 * s;
  const float width = std::floor(std::min(kWidth * s, ImGui::GetIO().DisplaySize.x - 32 * s));
  ImGui::SetNextWindowPos(ImVec2(std::floor(corner.x), std::floor(corner.y)), ImGuiCond_Always, ImVec2(1, 1));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0), ImVec2(width, FLT_MAX));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(kPad * s + bar, 8 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, std::max(1.0f, std::floor(s)));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::Begin("divergence", nullptr,
               kStillWindow | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  const ImVec2 at = ImGui::GetWindowPos();
  auto* const list = ImGui::GetWindowDrawList();
  list->PushClipRectFullScreen();  // up to the box's edge, over its padding
  list->AddRectFilled(at, ImVec2(at.x + bar, at.y + ImGui::GetWindowHeight()), frame.palette.error, 4 * s,
                      ImDrawFlags_RoundCornersLeft);
  list->PopClipRect();
  draw_title(frame, width);
  if (!folded_) {
    paragraph(frame.fonts.text, frame.palette.text, sentence(divergence.text));
    trace_item("divergence.text");
    ImGui::Dummy(ImVec2(1, 2 * s));
    draw_choices(frame);
  }
  ImGui::End();
}

}  // namespace warpscope::ui
