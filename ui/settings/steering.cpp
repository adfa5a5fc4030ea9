#include "ui/settings/steering.h"

#include <fmt/format.h>

namespace warpscope::ui {
namespace {

// Dear ImGui's own stack of disabled controls, of the same thread, does not tell why they are.
thread_local int refusals = 0;
thread_local std::string refusal;

// These stay readable: what they are set to is what a view is opened for.
constexpr float kAlpha = 0.7f;

std::string refusal_of(const training::Snapshot& snapshot, bool can, const char* what) {
  return can ? "" : fmt::format("This window shows a training that is {}; {}.", snapshot.can.why_not, what);
}

}  // namespace

std::string why_no_steering(const training::Snapshot& snapshot) {
  return refusal_of(snapshot, snapshot.can.steer, "it cannot be steered from here");
}

std::string invitation_or_why_not(const training::Snapshot& snapshot, const char* invitation) {
  const std::string why = why_no_steering(snapshot);
  return why.empty() ? invitation : why;
}

std::string why_it_stands(const training::Snapshot& snapshot) {
  switch (snapshot.state) {
    case training::TrainerState::preparing:
      return "The training is still being prepared.";
    case training::TrainerState::finished:
      return "The training has ended: more epochs, steps or time let it go on (Ctrl P, \"epochs 20\"), "
             "Reset (R) starts it again, a right click on the curves goes back, and the start page (Ctrl N) "
             "begins another with its weights.";
    case training::TrainerState::failed:
      return "The training has failed.";
    case training::TrainerState::interrupted:
      return "The process that trained has ended.";
    case training::TrainerState::running:
    case training::TrainerState::paused:
      break;
  }
  return "";
}

std::string why_no_saving(const training::Snapshot& snapshot) {
  return refusal_of(snapshot, snapshot.can.save, "nothing is saved from here");
}

std::string why_no_look(const training::Snapshot& snapshot, const char* otherwise) {
  const bool told = snapshot.revival && !snapshot.revival->problem.empty();
  return told ? fmt::format("Nothing can be looked into: {}.", snapshot.revival->problem) : otherwise;
}

bool sees_network(const training::Snapshot& snapshot) {
  return snapshot.revival ? snapshot.revival->ready : snapshot.can.look_inside;
}

void ask_for_results(const Frame& frame, bool shown) {
  const auto& revival = frame.snapshot.revival;
  if (revival && frame.request != nullptr && (!shown || revival->asked)) frame.request->results = true;
}

Steering::Steering(const Frame& frame) : refused_(!frame.snapshot.can.steer) {
  if (!refused_) return;
  if (refusals++ == 0) refusal = why_no_steering(frame.snapshot);
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
  return refusals > 0 ? std::string_view(refusal) : std::string_view();
}

}  // namespace warpscope::ui
