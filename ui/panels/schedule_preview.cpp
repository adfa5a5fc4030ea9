#include "ui/panels/schedule_preview.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::Schedule;
using training::ScheduleKind;

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
        "{} follows the length of the run, and this run has no end. Start it with --epochs N to give it one.",
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

}  // namespace warpscope::ui
