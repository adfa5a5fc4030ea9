#include "ui/panels/training/finder_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::RateFinderResult;
using training::TrainerState;

constexpr float kLeastFinderPlot = 88;  // design pixels
constexpr const char* kLow = "training.finder_low";
constexpr const char* kHigh = "training.finder_high";

std::string rate_text(double rate) {
  return fmt::format("{:.3g}", rate);
}

// "Use 0.0123"; nothing where there is no such rate.
void use_button(const Frame& frame, SettingsController& controller, const char* name, const char* verb,
                const std::optional<double>& rate, const char* tip) {
  if (!rate) return;
  // The rate as the button shows it is the one that is set.
  const auto said = static_cast<float>(std::stod(rate_text(*rate)));
  training::OptimizerSettings settings = controller.settings(frame).optimizer;
  const bool used = settings.learning_rate == said;
  const std::string label = fmt::format("{} {}", verb, rate_text(*rate));
  // On the next line where this one is full.
  ImGui::SameLine(0, 8 * frame.scale);
  if (ImGui::GetContentRegionAvail().x < text_button_width(frame, label)) ImGui::NewLine();
  if (text_button(frame, name, label.c_str(), used ? "This is the learning rate in use." : tip, !used)) {
    settings.learning_rate = said;
    controller.send(frame, settings);
  }
}

void draw_sentence(const Frame& frame, const RateFinderResult& result) {
  paragraph(frame.fonts.text, result.suggested ? frame.palette.text : frame.palette.warning,
            sentence(result.text));
  trace_item("training.finder_text");
}

constexpr double kLeastSpan = 100;  // of the rates

plot::Range loss_range(const std::vector<training::RatePoint>& points) {
  const auto lowest = std::min_element(points.begin(), points.end(),
                                       [](const auto& a, const auto& b) { return a.smoothed < b.smoothed; });
  double high = lowest->smoothed, low = high;
  for (auto point = points.begin(); point != lowest; ++point) high = std::max(high, point->smoothed);
  // The loss hardly fell: a range of its own size keeps the curve from being stretched to noise, and half of a curve
  // that rises from the start is in view.
  if (high - low <= 0.05 * std::abs(high)) {
    std::vector<double> all;
    for (const training::RatePoint& point : points) all.push_back(point.smoothed);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    high = std::max(low + std::max(0.25 * std::abs(low), 1e-9), *middle);
  }
  const double span = high - low;
  return {std::max(0.0, low - 0.25 * span), high + 0.5 * span, false};
}

}  // namespace

FinderCurve finder_curve(const training::RateFinderResult& result, const training::RateFinderOptions& options,
                         bool running) {
  FinderCurve curve;
  for (const training::RatePoint& point : result.points) {
    curve.raw.append(point.rate, static_cast<float>(point.loss));
    curve.smoothed.append(point.rate, static_cast<float>(point.smoothed));
  }
  const double reached = running || result.points.empty() ? options.high : result.points.back().rate;
  curve.x = {options.low, std::max(reached, kLeastSpan * options.low), true};
  if (!result.points.empty()) curve.y = loss_range(result.points);
  return curve;
}

void FinderView::draw_start(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const float s = frame.scale;
  const bool running = snapshot.rate_search && snapshot.rate_search->running;
  if (running) {
    if (text_button(frame, "training.finder_cancel", "Cancel",
                    "Ends the test; the weights from before come back.")) {
      frame.send(training::CancelFindRate{});
    }
    ImGui::SameLine(0, 8 * s);
    const double progress = snapshot.rate_search->progress;
    progress_bar(frame, "training.finder_progress",
                 std::clamp(ImGui::GetContentRegionAvail().x / 2, 60 * s, 240 * s),
                 static_cast<float>(progress));
    ImGui::SameLine(0, 10 * s);
    value_with_unit(frame, fmt::format("{:.0f}", 100 * progress), "%",
                    "Part of the test's steps that is done.");
    return;
  }
  const bool able = snapshot.state == TrainerState::running || snapshot.state == TrainerState::paused;
  if (text_button(frame, "training.find_rate", "Find rate",
                  fmt::format("{} steps whose learning rate rises from {:g} to {:g}, to see where the loss "
                              "falls fastest and where it blows up. Weights and optimizer state come back "
                              "afterwards. Another command meanwhile ends the test.",
                              with_thousands(options_.steps), options_.low, options_.high),
                  able)) {
    frame.send(training::FindRate{options_});
  }
}

// The ends of the sweep, which the result of a test may ask to change.
void FinderView::draw_range(const Frame& frame, Refusal& refusal) {
  const float s = frame.scale, width = 72 * s;
  const auto box = [&](ValueField& field, const char* name, const char* label, double* value, bool valid_low,
                       double bound) {
    ValueSpec spec;
    spec.name = name;
    spec.label = label;
    spec.tip = fmt::format("The {} of the sweep.", label);
    spec.limits = {.least = valid_low ? 0 : bound,
                   .most = valid_low ? bound : 1e6,
                   .above_least = true,
                   .below_most = valid_low};
    const ValueEdit edit = field.draw_box(frame, spec, *value, width);
    if (edit.finished) *value = edit.value;
    take_refusal(spec.name, edit, refusal);
    ImGui::SameLine(0, 8 * s);
  };
  row_text(frame, frame.fonts.text, frame.palette.muted, "rates");
  ImGui::SameLine(0, 8 * s);
  box(low_, kLow, "first rate", &options_.low, true, options_.high);
  caption(frame, "to");
  ImGui::SameLine(0, 8 * s);
  box(high_, kHigh, "last rate", &options_.high, false, options_.low);
  if ((refusal.field == kLow || refusal.field == kHigh) && !refusal.text.empty())
    return draw_refusal(frame, refusal);
  const std::string steps = fmt::format("{} steps", with_thousands(options_.steps));
  if (text_width(frame.fonts.small, steps) > ImGui::GetContentRegionAvail().x) ImGui::NewLine();
  caption(frame, steps);
}

void FinderView::draw_plot(const Frame& frame, const RateFinderResult& result, float height) {
  std::vector<plot::ChartMark> marks;
  if (result.suggested) marks.push_back({*result.suggested, "suggested", frame.palette.good});
  if (result.cautious) marks.push_back({*result.cautious, "cautious", frame.palette.muted});
  const auto now = static_cast<double>(frame.snapshot.settings->optimizer.learning_rate);
  if (now > 0) marks.push_back({now, "in use", frame.palette.accent});
  const ImU32 color = frame.palette.series[0];
  const std::array lines{plot::ChartLine{&curve_.smoothed, color}, plot::ChartLine{&curve_.raw, color, true}};
  const plot::Chart chart{.lines = lines,
                          .marks = marks,
                          .x = curve_.x,
                          .y = curve_.y,
                          .x_label = "learning rate",
                          .y_label = "loss",
                          .describe = [this](double x, double y) {
                            const std::size_t i = curve_.raw.nearest(x);
                            return fmt::format("rate {:.3g}\nsmoothed loss {}\nloss of this step {}", x,
                                               compact_number(y),
                                               compact_number(static_cast<double>(curve_.raw.y(i))));
                          }};
  plot::draw_chart(frame, "training.finder_plot", ImVec2(ImGui::GetContentRegionAvail().x, height), chart);
}

void FinderView::draw(const Frame& frame, SettingsController& controller, Refusal& refusal) {
  const auto& search = frame.snapshot.rate_search;
  draw_start(frame);
  if (!search) {
    draw_range(frame, refusal);
    centered_text(frame,
                  invitation_or_why_not(
                      frame.snapshot,
                      "Not run yet. A short sweep of learning rates finds where the loss falls fastest; "
                      "the weights come back afterwards."));
    return;
  }
  const RateFinderResult& result = search->result;
  if (shown_ != search) {
    shown_ = search;
    curve_ = finder_curve(result, options_, search->running);
  }
  const float s = frame.scale;
  float below = 4 * s;
  if (!search->running) {
    use_button(frame, controller, "training.use_suggested", "Use", result.suggested,
               "Sets the learning rate at which the loss fell fastest.");
    use_button(frame, controller, "training.use_cautious", "Use cautious", result.cautious,
               "Sets a tenth of the learning rate at which the loss was lowest.");
    below += paragraph_height(frame.fonts.text, sentence(result.text), ImGui::GetContentRegionAvail().x) +
             ImGui::GetFrameHeight() + 2 * ImGui::GetStyle().ItemSpacing.y;
  }
  if (!result.points.empty()) {
    draw_plot(frame, result, std::max(ImGui::GetContentRegionAvail().y - below, kLeastFinderPlot * s));
  }
  if (search->running) return;
  if (!result.text.empty()) draw_sentence(frame, result);
  draw_range(frame, refusal);
}

}  // namespace warpscope::ui
