#include "ui/panels/laboratory/job_bar.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using jobs::Job;

const char* job_name(Job job) {
  switch (job) {
    case Job::bench:
      return "the bench";
    case Job::verify:
      return "verify";
    case Job::baseline:
      return "the measurement of CPU loops";
    case Job::none:
      break;
  }
  return "nothing";
}

bool ready(const Frame& frame) {
  const auto state = frame.snapshot.state;
  return !frame.snapshot.device.name.empty() && state != training::TrainerState::preparing;
}

}  // namespace

bool job_button(const Frame& frame, LaboratoryController& controller, const JobButton& button) {
  if (controller.state().running == button.job) {
    if (text_button(frame, button.cancel, "Cancel", "Stops after the running part; what was done stays."))
      controller.cancel();
    return false;
  }
  // A view of a run steers nothing by it: the job is this process's own.
  std::optional<Steering> steering;
  if (!frame.snapshot.revival) steering.emplace(frame);
  const std::string tip = controller.busy()
                              ? fmt::format("Waits for the end of {}.", job_name(controller.state().running))
                              : std::string(button.tip);
  return text_button(frame, button.name, button.label, tip, ready(frame) && !controller.busy());
}

void job_progress(const Frame& frame, const LaboratoryController& controller, Job job, const char* name) {
  const auto& state = controller.state();
  const float s = frame.scale;
  if (state.running != job) {
    if (state.last != job || (state.failure.empty() && !state.cancelled)) return;
    const std::string text = state.failure.empty() ? "cancelled" : state.failure;
    row_text(frame, frame.fonts.small, state.failure.empty() ? frame.palette.muted : frame.palette.error,
             ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
    tooltip(frame, text);
    return;
  }
  if (state.waits) {
    caption(frame, "waits for the training to pause");
    return;
  }
  const float part =
      state.total > 0 ? static_cast<float>(state.done) / static_cast<float>(state.total) : 0.0f;
  progress_bar(frame, name, std::clamp(ImGui::GetContentRegionAvail().x / 4, 60 * s, 240 * s), part);
  ImGui::SameLine(0, 10 * s);
  if (state.total > 0) {
    value_with_unit(frame, fmt::format("{}/{}", state.done, state.total), "", "Parts done, of how many.");
    ImGui::SameLine(0, 10 * s);
  }
  const std::string text = controller.disturbed(frame)
                               ? "the training runs beside it: these times are not those of an idle device"
                               : state.text;
  row_text(frame, frame.fonts.small,
           controller.disturbed(frame) ? frame.palette.warning : frame.palette.muted,
           ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  tooltip(frame, text);
}

void phase_row(const Frame& frame, const char* name, double part, const std::string& phase,
               const std::string& left) {
  const float s = frame.scale, room = ImGui::GetContentRegionAvail().x;
  progress_bar(frame, name, std::clamp(room / 4, 48 * s, 160 * s), static_cast<float>(part));
  ImGui::SameLine(0, 10 * s);
  const std::string text = left.empty() ? phase : fmt::format("{}, {}", phase, left);
  caption(frame, ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
}

void figure_rows(const Frame& frame, std::span<const JobFigure> figures, float at) {
  for (const JobFigure& figure : figures) {
    row_text(frame, frame.fonts.text, frame.palette.muted, figure.label);
    tooltip(frame, figure.tip);
    ImGui::SameLine(at);
    value_with_unit(frame, figure.value, figure.unit, figure.tip);
  }
}

}  // namespace warpscope::ui
