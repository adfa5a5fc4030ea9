#include "ui/panels/training/schedule_view.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::Schedule;
using training::ScheduleKind;

constexpr float kLeastPlot = 96;  // design pixels

float buttons_width(const Frame& frame) {
  return text_button_width(frame, "Apply") + text_button_width(frame, "Undo") + 8 * frame.scale;
}

constexpr int kPoints = 400;
constexpr double kDropsShown = 4, kLeastEpochs = 10, kAhead = 1.25;
constexpr double kLinearRatio = 100;  ///< of the rates: beyond it the axis is logarithmic

// How many epochs to show of a run without end: a few drops, or some way beyond now.
double shown_epochs(const Schedule& schedule, const ScheduleMoment& moment) {
  if (moment.total_epochs > 0) return moment.total_epochs;
  const double drops = schedule.kind == ScheduleKind::step ? kDropsShown * schedule.every : kLeastEpochs;
  return std::max(drops, kAhead * moment.epoch);
}

std::string refusal_of(const Schedule& schedule, double total_epochs) {
  if (needs_length(schedule.kind) && total_epochs <= 0) {
    return fmt::format(
        "{} follows the length of the run, and this run has no end. A goal on the start page (Ctrl N), or "
        "--epochs N, "
        "gives a training one.",
        to_string(schedule.kind));
  }
  try {
    check(schedule);
    check_length(schedule, total_epochs);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

std::string plateau_sentence(const Schedule& schedule) {
  return fmt::format(
      "Follows the loss: once the held-out loss has not improved for {:g} {}, the rate is multiplied by "
      "{:g}. When that will be is not known beforehand.",
      schedule.patience, schedule.patience == 1 ? "epoch" : "epochs", schedule.plateau_factor);
}

plot::Range rate_range(double low, double high) {
  if (low > 0 && high / low > kLinearRatio) return {low / 1.5, high * 1.5, true};
  return {0, high > 0 ? high * 1.08 : 1, false};
}

void draw_preview(const Frame& frame, const SchedulePreview& preview) {
  const float s = frame.scale;
  if (!preview.sentence.empty()) {
    centered_text(frame, preview.sentence);
    return;
  }
  const auto& snapshot = frame.snapshot;
  const std::array lines{plot::ChartLine{&preview.rates, frame.palette.series[0]}};
  std::array<plot::ChartMark, 1> marks{
      plot::ChartMark{std::clamp(snapshot.epoch, 0.0, preview.x.high),
                      snapshot.epoch > preview.x.high ? "now, after the end" : "now", frame.palette.accent}};
  const plot::Chart chart{
      .lines = lines,
      .marks = marks,
      .x = preview.x,
      .y = preview.y,
      .x_label = "epochs",
      .y_label = "rate",
      .describe = [](double x, double y) { return fmt::format("epoch {:.2f}: rate {:.4g}", x, y); }};
  const ImVec2 room = ImGui::GetContentRegionAvail();
  plot::draw_chart(frame, "training.schedule_preview",
                   ImVec2(room.x, std::max(room.y - 4 * s, kLeastPlot * s)), chart);
}

}  // namespace

SchedulePreview preview_of(const Schedule& schedule, const ScheduleMoment& moment) {
  SchedulePreview result;
  result.refusal = refusal_of(schedule, moment.total_epochs);
  if (!result.refusal.empty()) {
    result.sentence = result.refusal;
    return result;
  }
  if (schedule.kind == ScheduleKind::plateau) {
    result.sentence = plateau_sentence(schedule);
    return result;
  }
  const double epochs = shown_epochs(schedule, moment);
  const auto points = training::preview(schedule, moment.base_rate, epochs, kPoints);
  double low = points.front().rate, high = low;
  for (const training::SchedulePoint& point : points) {
    low = std::min(low, point.rate);
    high = std::max(high, point.rate);
    result.rates.append(point.epoch, static_cast<float>(point.rate));
  }
  result.x = {0, epochs, false};
  result.y = rate_range(low, high);
  return result;
}

const char* schedule_note(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::constant:
      return "the base rate, after a warm-up";
    case ScheduleKind::step:
      return "drops every few epochs";
    case ScheduleKind::cosine:
      return "warm-up, then down a cosine";
    case ScheduleKind::one_cycle:
      return "up to the base rate, then far down";
    case ScheduleKind::plateau:
      return "drops when the loss stands still";
  }
  return "";
}

ValueSpec spec_of(const training::ScheduleParameter& parameter) {
  ValueSpec spec;
  spec.unit = parameter.unit;
  spec.name = fmt::format("training.schedule.{}", parameter.key);
  spec.label = parameter.label;
  spec.limits = {.least = parameter.least,
                 .most = parameter.most,
                 .above_least = parameter.above_least,
                 .below_most = parameter.below_most,
                 .integer = parameter.whole};
  spec.scale = ValueScale{.low = parameter.slider_low,
                          .high = parameter.slider_high,
                          .logarithmic = parameter.logarithmic,
                          .zero = parameter.logarithmic && parameter.least == 0 && !parameter.above_least,
                          .integer = parameter.whole};
  // The ends of the slider must be valid themselves.
  if (parameter.below_most && spec.scale->high >= parameter.most) spec.scale->high = 0.999 * parameter.most;
  spec.tip = fmt::format("{}: {}, {}. The preview follows at once, the training when it is applied.",
                         parameter.label, parameter.meaning, range_text(spec.limits));
  return spec;
}

void ScheduleView::draw_kind(const Frame& frame) {
  row_text(frame, frame.fonts.text, frame.palette.muted, "kind");
  tooltip(frame, explain("Schedule"));
  ImGui::SameLine(value_left(frame));
  if (!begin_combo(frame, "training.schedule", std::string(to_string(draft_.kind)),
                   choice_width(frame, buttons_width(frame)),
                   "How the learning rate changes over the run. Shown below first; the training follows it "
                   "once it is applied.")) {
    return;
  }
  for (int i = 0; i < training::kScheduleKindCount; ++i) {
    const auto kind = static_cast<training::ScheduleKind>(i);
    const std::string label(to_string(kind));
    const std::string name = "training.schedule=" + label;
    if (combo_item(frame, name.c_str(), label.c_str(), kind == draft_.kind, schedule_note(kind))) {
      draft_.kind = kind;
    }
  }
  end_combo();
}

void ScheduleView::draw_apply(const Frame& frame, SettingsController& controller,
                              const SchedulePreview& preview) {
  const auto& snapshot = frame.snapshot;
  const bool differs = !(draft_ == snapshot.settings->schedule);
  const std::string tip = !preview.refusal.empty() ? preview.refusal
                          : differs ? "The training follows this schedule from its next step on."
                                    : "This is the schedule that the training follows.";
  same_line_if_fits(frame, buttons_width(frame));
  if (text_button(frame, "training.schedule_apply", "Apply", tip, differs && preview.refusal.empty())) {
    training::TrainingSettings wanted = controller.settings(frame);
    wanted.schedule = draft_;
    controller.send(frame, wanted);
  }
  ImGui::SameLine(0, 8 * frame.scale);
  if (!differs) {
    caption(frame, ellipsize(frame.fonts.small, "in use", ImGui::GetContentRegionAvail().x));
    return;
  }
  const std::string in_use(to_string(snapshot.settings->schedule.kind));
  if (text_button(frame, "training.schedule_undo", "Undo",
                  fmt::format("Back to the schedule in use: {}.", to_string(snapshot.settings->schedule)))) {
    draft_ = snapshot.settings->schedule;
  }
  ImGui::SameLine(0, 8 * frame.scale);
  const std::string text = fmt::format("{} in use", in_use);
  // No room for a word of it: the tip of "Undo" says it.
  if (ImGui::GetContentRegionAvail().x < 48 * frame.scale) return ImGui::NewLine();
  row_text(frame, frame.fonts.small, frame.palette.accent,
           ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  tooltip(frame,
          fmt::format("Not applied yet: the training follows {}.", to_string(snapshot.settings->schedule)));
}

void ScheduleView::draw_parameters(const Frame& frame, Refusal& refusal) {
  for (const training::ScheduleParameter& parameter : parameters_of(draft_.kind)) {
    // Kinds share keys, not values: each has a field of its own.
    const std::string key = fmt::format("{}.{}", to_string(draft_.kind), parameter.key);
    const ValueEdit edit =
        fields_[key].draw(frame, spec_of(parameter), draft_.*parameter.value, value_left(frame), &refusal);
    if (edit.changed) draft_.*parameter.value = edit.value;
  }
}

void ScheduleView::draw(const Frame& frame, SettingsController& controller, Refusal& refusal) {
  const auto& snapshot = frame.snapshot;
  if (!seen_ || !(*seen_ == snapshot.settings->schedule)) draft_ = snapshot.settings->schedule;
  seen_ = snapshot.settings->schedule;
  draw_kind(frame);
  const auto base_rate = static_cast<double>(controller.settings(frame).optimizer.learning_rate);
  const ScheduleMoment moment{base_rate, snapshot.epoch, snapshot.total_epochs};
  draw_apply(frame, controller, preview_of(draft_, moment));
  draw_parameters(frame, refusal);
  draw_preview(frame, preview_of(draft_, moment));
}

}  // namespace warpscope::ui
