#include "ui/panels/rewind_menu.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr const char* kRewindMenu = "loss.rewind";

}  // namespace

std::string rewind_title(std::uint64_t step) {
  return fmt::format("Go back to step {}", with_thousands(step));
}

std::string rewind_note(const training::Snapshot& snapshot, std::uint64_t step) {
  const auto& kept = *snapshot.moments;
  const auto behind = std::upper_bound(kept.begin(), kept.end(), step);
  if (behind == kept.begin()) return "";
  const std::uint64_t from = *std::prev(behind);
  return from == step ? "kept" : fmt::format("computed again from step {}", with_thousands(from));
}

std::string why_no_rewind(const training::Snapshot& snapshot, std::uint64_t step) {
  if (std::string why = why_no_steering(snapshot); !why.empty()) return why;
  if (step >= snapshot.step) return "The training is not beyond that step.";
  if (snapshot.moments->empty()) return "No moments are kept: --moments says how much memory they may take.";
  return rewind_note(snapshot, step).empty() ? "No moment is kept from before that step." : "";
}

void RewindMenu::draw(const Frame& frame) {
  if (std::exchange(opens_, false)) ImGui::OpenPopup(kRewindMenu);
  const float s = frame.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(4 * s, 4 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  if (ImGui::BeginPopup(kRewindMenu, ImGuiWindowFlags_NoMove)) {
    trace_open_list(kRewindMenu);
    if (combo_item(frame, "loss.rewind.go", rewind_title(step_).c_str(), false,
                   rewind_note(frame.snapshot, step_), why_no_rewind(frame.snapshot, step_))) {
      frame.send(training::RewindTo{step_});
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

}  // namespace warpscope::ui
