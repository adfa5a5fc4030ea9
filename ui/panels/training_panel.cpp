#include "ui/panels/training_panel.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ui/panels/data_texts.h"
#include "ui/settings/setting_spec.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::TrainerState;

constexpr std::array<const char*, 5> kTabs{"Results", "Optimizer", "Schedule", "Finder", "Augment"};

// A hairline under what belongs to all tabs.
void rule_off(const Frame& frame) {
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled(
      at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y + hairline(frame)), frame.palette.grid);
  ImGui::Dummy(ImVec2(1, 4 * frame.scale));
}

bool takes_commands(TrainerState state) {
  return state == TrainerState::running || state == TrainerState::paused;
}

}  // namespace

std::span<const char* const> TrainingPanel::tabs() {
  return kTabs;
}

void TrainingPanel::draw_batch(const Frame& frame) {
  const training::Setting& row = training::setting("batch");
  ValueSpec spec = spec_of(row);
  spec.tip += " Enter applies it: the plan is built anew, the weights go on.";
  spec.zero_text = std::string(1, '-');  // until the device is known
  spec.unit = said_of_data(frame, "images");
  if (frame.snapshot.train_images > 0)
    spec.limits.most = std::min(spec.limits.most, static_cast<double>(frame.snapshot.train_images));
  controller_.draw(frame, row, std::move(spec), refusal_);
}

void TrainingPanel::draw_tab(const Frame& frame, bool able) {
  const Steering steering(frame);
  ImGui::BeginDisabled(!able);
  switch (tab_) {
    case kOptimizer:
      optimizer_.draw(frame, controller_, refusal_);
      break;
    case kSchedule:
      schedule_.draw(frame, controller_, refusal_);
      break;
    default:
      finder_.draw(frame, controller_, refusal_);
      break;
  }
  ImGui::EndDisabled();
}

/// The controls above all tabs.
void TrainingPanel::draw_settings(const Frame& frame, bool able) {
  const Steering steering(frame);
  ImGui::BeginDisabled(!able);
  optimizer_.draw_rate(frame, controller_, refusal_);
  draw_batch(frame);
  ImGui::EndDisabled();
}

void TrainingPanel::draw(const Frame& frame) {
  results_.update(frame);
  if (panel_tabs(frame, "training", kTabs, &tab_)) refusal_ = {};
  panel_body(frame);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * frame.scale, 2 * frame.scale));
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  const bool able = takes_commands(frame.snapshot.state);
  draw_settings(frame, able);
  rule_off(frame);
  // Results are read, not changed: they are as good after the end.
  if (tab_ == kResults) {
    results_.draw(frame);
  } else if (tab_ == kAugment) {
    const Steering steering(frame);
    augment_.draw(frame, controller_, able, refusal_);
  } else {
    draw_tab(frame, able);
  }
  ImGui::PopStyleVar();
}

}  // namespace warpscope::ui
