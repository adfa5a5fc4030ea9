#include "ui/settings/steering.h"

namespace warpscope::ui {
namespace {

// Dear ImGui's own stack of disabled controls, of the same thread, does not tell why they are.
thread_local int refusals = 0;

// These stay readable: what they are set to is what a view is opened for.
constexpr float kAlpha = 0.7f;

}  // namespace

Steering::Steering(const Frame& frame) : refused_(is_view(frame)) {
  if (!refused_) return;
  ++refusals;
  ImGui::PushStyleVar(ImGuiStyleVar_DisabledAlpha, kAlpha);
  ImGui::BeginDisabled();
}

Steering::~Steering() {
  if (!refused_) return;
  ImGui::EndDisabled();
  ImGui::PopStyleVar();
  --refusals;
}

std::string_view steering_refusal() {
  return refusals > 0 ? kNoSteering : std::string_view();
}

}  // namespace warpscope::ui
