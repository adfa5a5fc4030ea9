#include "ui/panels/curves/rewind_menu.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gpu/settings/training_settings.h"
#include "ui/input/cursor.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr const char* kRewindMenu = "loss.rewind";
constexpr const char* kLookNote = "what was kept; the training is not moved";

std::string waiting_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", std::max(0.1, seconds));
  return seconds < 60 ? fmt::format("{:.0f} s", seconds) : clock_text(seconds);
}

/// As the newest steps were made; 0 if it is not known.
double seconds_a_step(const training::Snapshot& snapshot) {
  const double now = snapshot.images_per_second, whole = snapshot.figures.median_images_per_second;
  const double speed = now > 0 ? now : whole;
  const auto& settings = *snapshot.settings;
  const double images = static_cast<double>(settings.batch) * std::max(1, settings.optimizer.accumulate);
  return speed > 0 ? images / speed : 0;
}

/// How long the steps from `from` to `step` take, " (0.3 s)"; "" if it is not known, or there are none.
std::string time_of_steps(const training::Snapshot& snapshot, std::uint64_t from, std::uint64_t step) {
  const double seconds = static_cast<double>(step - from) * seconds_a_step(snapshot);
  return seconds > 0 ? fmt::format(" ({})", waiting_text(seconds)) : "";
}

/// The last moment up to that step.
std::optional<std::uint64_t> moment_before(const training::Snapshot& snapshot, std::uint64_t step) {
  const auto& kept = *snapshot.moments;
  const auto behind = std::upper_bound(kept.begin(), kept.end(), step);
  return behind == kept.begin() ? std::nullopt : std::optional(*std::prev(behind));
}

}  // namespace

std::string look_title(std::uint64_t step) {
  return fmt::format("Look at step {}", with_thousands(step));
}

std::string rewind_title(std::uint64_t step) {
  return fmt::format("Rewind the training to step {}", with_thousands(step));
}

std::string rewind_note(const training::Snapshot& snapshot, std::uint64_t step) {
  const auto from = moment_before(snapshot, step);
  if (!from) return "";
  return *from == step ? "kept" : fmt::format("computed again from step {}", with_thousands(*from));
}

std::string rewind_offer(const training::Snapshot& snapshot, std::uint64_t step) {
  const auto from = moment_before(snapshot, step);
  if (!from || !why_no_rewind(snapshot, step).empty()) return "";
  const training::Rewind& rewind = snapshot.rewind;
  if (rewind.running && rewind.to == step) {
    return fmt::format("rewinding: step {} of {}", with_thousands(rewind.at), with_thousands(step));
  }
  return "rewind the training" + time_of_steps(snapshot, *from, step);
}

std::string rewind_progress(const training::Rewind& rewind) {
  return fmt::format("rewinding the training to step {}: step {} is computed again",
                     with_thousands(rewind.to), with_thousands(rewind.at));
}

std::string why_no_rewind(const training::Snapshot& snapshot, std::uint64_t step) {
  if (std::string why = why_no_steering(snapshot); !why.empty()) return why;
  if (step >= snapshot.step) return "The training is not beyond that step.";
  if (snapshot.moments->empty()) return "No moments are kept: --moments says how much memory they may take.";
  return rewind_note(snapshot, step).empty() ? "No moment is kept from before that step." : "";
}

std::string aside_title(std::uint64_t step) {
  return fmt::format("Compute step {} aside", with_thousands(step));
}

std::string aside_offer(const training::Snapshot& snapshot, std::uint64_t step) {
  const training::Aside& aside = snapshot.aside;
  if (aside.step == step && aside.ready) return "";
  if (aside.step == step && aside.problem.empty())
    return fmt::format("computing: step {} of {}", with_thousands(aside.at), with_thousands(step));
  const auto from = moment_before(snapshot, step);
  if (!from || !why_no_aside(snapshot, step).empty()) return "";
  return "compute it aside" + time_of_steps(snapshot, *from, step);
}

std::string why_no_aside(const training::Snapshot& snapshot, std::uint64_t step) {
  if (std::string why = why_no_rewind(snapshot, step); !why.empty()) return why;
  if (!snapshot.ranks.empty() && !training::can_be_made_by_one_rank(*snapshot.settings)) {
    return "Each rank draws or normalizes for its own part of a batch, which the one that would compute it "
           "cannot.";
  }
  return snapshot.rewind.running ? "The training is on its way to another step." : "";
}

/// As a click on the curve does.
void RewindMenu::draw_look(const Frame& frame) const {
  if (frame.cursor == nullptr) return;
  Cursor& cursor = *frame.cursor;
  const bool pinned = !cursor.passing && cursor.step == step_;
  if (!combo_item(frame, "loss.rewind.look", look_title(step_).c_str(), pinned, kLookNote)) return;
  cursor.step = step_;
  cursor.passing = false;
}

void RewindMenu::draw(const Frame& frame) {
  if (std::exchange(opens_, false)) ImGui::OpenPopup(kRewindMenu);
  const float s = frame.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(4 * s, 4 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  if (ImGui::BeginPopup(kRewindMenu, ImGuiWindowFlags_NoMove)) {
    trace_open_list(kRewindMenu);
    draw_look(frame);
    const bool there = frame.snapshot.aside.step == step_ && frame.snapshot.aside.ready;
    const std::string way = rewind_note(frame.snapshot, step_);
    const auto note = [&way](const char* then) { return way.empty() ? way : way + then; };
    if (combo_item(frame, "loss.rewind.aside", aside_title(step_).c_str(), there,
                   note("; the training goes on"), why_no_aside(frame.snapshot, step_))) {
      look_aside(frame, step_);
    }
    if (combo_item(frame, "loss.rewind.go", rewind_title(step_).c_str(), false,
                   note("; what came after stays"), why_no_rewind(frame.snapshot, step_))) {
      frame.send(training::RewindTo{step_});
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

}  // namespace warpscope::ui
