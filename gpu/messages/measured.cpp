#include "gpu/messages/measured.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/core/quantile.h"
#include "gpu/files/file.h"

namespace warpscope::training {
namespace {

bool is_there(const Control& control) {
  return control.samples > 0 && std::min(control.before, control.now) >= kLeastControl &&
         std::isfinite(control.before) && std::isfinite(control.now);
}

/// The larger of the two times over the smaller one.
double drift(const Control& control) {
  return std::max(control.before, control.now) / std::min(control.before, control.now);
}

bool tells_median(const Measured& of) {
  return of.samples >= kEnoughSamples && of.median > 0 && std::isfinite(of.median);
}

Doubt doubt_about(const Measured& before, const Measured& now, const Control& control) {
  if (!tells_median(before) || !tells_median(now)) return Doubt::few_samples;
  if (!is_there(control)) return Doubt::no_control;
  if (control.samples < kEnoughSamples) return Doubt::few_steps;
  return drift(control) > 1 + kControlTolerance ? Doubt::other_load : Doubt::none;
}

}  // namespace

Measured measured_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t count = samples.size();
  return {core::quantile(samples, 0.5), samples[count - 1 - count / 4] - samples[count / 4], count};
}

Control worse_of(const Control& a, const Control& b) {
  if (!is_there(a) || !is_there(b)) return is_there(a) ? b : a;
  if (std::min(a.samples, b.samples) < kEnoughSamples) return a.samples < b.samples ? a : b;
  return drift(a) < drift(b) ? b : a;
}

Compared compare(const Measured& before, const Measured& now, const Control& control) {
  constexpr double kLeast = 0.02;
  if (const Doubt doubt = doubt_about(before, now, control); doubt != Doubt::none)
    return {Difference::unknown, doubt};
  const double distance = std::abs(now.median - before.median);
  if (distance > (before.spread + now.spread) / 2 && distance > kLeast * before.median)
    return {now.median < before.median ? Difference::less : Difference::more, Doubt::none};
  if (distance > kControlTolerance * std::max(before.median, now.median))
    return {Difference::unknown, Doubt::wide_spread};
  return {Difference::noise, Doubt::none};
}

std::string doubt_text(Doubt doubt, const Measured& before, const Measured& now, const Control& control,
                       const char* things) {
  switch (doubt) {
    case Doubt::none:
      return "";
    case Doubt::few_samples:
      return fmt::format(
          "Not compared: {} {} were sampled before the switch and {} since; {} of each are needed.",
          before.samples, things, now.samples, kEnoughSamples);
    case Doubt::no_control:
      return "Not compared: no op that takes a time worth telling was left as it was, so nothing tells "
             "whether "
             "the machine is as busy as it was before the switch.";
    case Doubt::few_steps:
      return fmt::format(
          "Not compared: the ops that were not switched tell whether the machine is as busy as before, and "
          "they were timed in only {}; {} before and after the switch are needed.",
          files::counted(control.samples, "step"), kEnoughSamples);
    case Doubt::other_load:
      return fmt::format(
          "Not compared: the ops that were not switched take {:.2f} times as long as before the switch, so "
          "the machine is not as busy as it was, or runs at another clock.",
          control.now / control.before);
    case Doubt::wide_spread:
      return fmt::format(
          "Not compared: the {} spread so far that the difference may be chance. A step that comes at two "
          "speeds, or another program, does that.",
          things);
  }
  return "";
}

}  // namespace warpscope::training
