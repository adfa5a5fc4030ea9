#include "ui/panels/curves/loss_lines.h"

#include <algorithm>
#include <array>

namespace warpscope::ui {
namespace {

using Kind = ShownCurve::Kind;

constexpr std::array<int, 4> kPresentColors{kTrainColor, kTestColor, kValidationColor, kBeforeColor};

void add_overlay(const ShownTraining& overlay, std::size_t dash, std::size_t plot, Metric metric,
                 const PlotSettings& settings, std::vector<ShownCurve>& curves) {
  if (!overlay.visible || plot >= overlay.history.plots()) return;
  const MetricCurves& of = overlay.history.curves(plot);
  if (of.choice.metric != metric) return;  // those of this metric are still being made
  const auto add = [&](Kind kind, const char* what, const plot::Series& series, bool wanted) {
    if (!wanted || series.empty()) return;
    curves.push_back({.name = has_held_out(metric) ? overlay.name + " " + what : overlay.name,
                      .kind = kind,
                      .run = overlay.name,
                      .earlier = true,
                      .color = overlay.color,
                      .dash = kind == Kind::train ? dash : dash + 1,
                      .series = &series,
                      .end = overlay.history.end()});
  };
  if (const plot::Series* const steps = curve_of_steps(overlay.history, plot))
    add(Kind::train, "train", *steps, settings.show_train);
  add(Kind::validation, "validation", of.validation, settings.show_validation);
  add(Kind::test, "test", of.test, settings.show_test);
}

}  // namespace

bool has_held_out(Metric metric) {
  return !facts_of(metric).test.empty();
}

const plot::Series* curve_of_steps(const LossHistory& history, std::size_t plot) {
  const MetricCurves& curves = history.curves(plot);
  if (curves.train.empty() || !history.seen()[static_cast<std::size_t>(curves.choice.metric)]) return nullptr;
  return curves.smoothed.empty() ? &curves.train : &curves.smoothed;
}

std::vector<ShownCurve> shown_curves(const Trainings& trainings, std::size_t plot,
                                     const PlotSettings& settings) {
  std::vector<ShownCurve> curves;
  const LossHistory& history = trainings.own().history;
  const MetricCurves& own = history.curves(plot);
  const Metric metric = own.choice.metric;
  const bool held_out = has_held_out(metric);
  const Overlays overlays = trainings.overlays();
  for (std::size_t i = 0; i < overlays.size(); ++i)
    add_overlay(*overlays[i], dash_of_run(overlays, i), plot, metric, settings, curves);
  const plot::Series& steps = own.train;
  const double end = history.end();
  const auto add = [&](Kind kind, const char* name, int color, const plot::Series& series,
                       const plot::Series* beneath, bool wanted) {
    if (!wanted || series.empty()) return;
    curves.push_back({name, kind, "", false, color, 0, &series, beneath, end});
  };
  const plot::Series& before = own.before;
  add(Kind::before, "previous", kBeforeColor, before, nullptr, settings.show_before);
  if (!curves.empty() && curves.back().kind == Kind::before) curves.back().end = before.x(before.size() - 1);
  const bool averaged = !own.smoothed.empty();
  add(Kind::train, held_out ? "train" : "this run", kTrainColor, averaged ? own.smoothed : steps,
      averaged ? &steps : nullptr, settings.show_train);
  add(Kind::validation, "validation", kValidationColor, own.validation, nullptr, settings.show_validation);
  add(Kind::test, "test", kTestColor, own.test, nullptr, settings.show_test);
  add(Kind::skipped, "skipped", kTestColor, own.skipped, nullptr, settings.show_train);
  return curves;
}

std::size_t dash_of_run(Overlays overlays, std::size_t index) {
  const int color = overlays[index]->color;
  const auto before = overlays.first(index);
  const auto same =
      std::count_if(before.begin(), before.end(), [color](const auto& each) { return each->color == color; });
  const bool present = std::find(kPresentColors.begin(), kPresentColors.end(), color) != kPresentColors.end();
  // Each run takes two: one for its training curve, one for those of held-out images.
  return 2 * static_cast<std::size_t>(same) + (present ? 1 : 0);
}

std::vector<plot::Line> lines_of(std::span<const ShownCurve> curves, const Palette& palette) {
  std::vector<plot::Line> lines;
  for (const ShownCurve& curve : curves) {
    const bool held_out = curve.kind == Kind::test || curve.kind == Kind::validation;
    lines.push_back({.name = curve.name.c_str(),
                     .series = curve.series,
                     .beneath = curve.beneath,
                     .beneath_name = "this step",
                     .color = palette.series[curve.color],
                     .dots = curve.kind != Kind::before && (held_out || !curve.earlier),
                     .faint = curve.kind == Kind::before,
                     .thin = curve.earlier,
                     .alone = curve.kind == Kind::skipped,
                     .dash = curve.dash,
                     // Nothing is known beyond the end of the training.
                     .end = curve.end});
  }
  return lines;
}

}  // namespace warpscope::ui
