#include "ui/panels/loss_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "ui/numbers.h"

namespace warpscope::ui {
namespace {

using runs::Over;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// True if `metric` was measured.
bool tells(Metric metric, float value) {
  return metric == Metric::loss_scale ? value != 1 : std::isfinite(value) && value != 0;
}

double value_of(Metric metric, const training::TestPoint& point) {
  switch (metric) {
    case Metric::loss:
      return static_cast<double>(point.loss);
    case Metric::accuracy:
      return static_cast<double>(point.accuracy);
    case Metric::psnr:
      return static_cast<double>(point.psnr);
    default:
      return kNoValue;
  }
}

}  // namespace

double LossHistory::position(std::uint64_t step, double epoch, double seconds) const {
  switch (over()) {
    case Over::epoch:
      return epoch;
    case Over::seconds:
      return seconds;
    default:
      return static_cast<double>(step);
  }
}

double LossHistory::position(const StepTable& table, std::size_t row) const {
  return position(table.step[row], static_cast<double>(table.epoch[row]), table.seconds[row]);
}

std::optional<double> LossHistory::place_of(std::uint64_t step) const {
  const auto after = std::upper_bound(steps_.step.begin(), steps_.step.end(), step);
  if (after == steps_.step.begin()) return {};
  return position(steps_, static_cast<std::size_t>(after - steps_.step.begin()) - 1);
}

// Markers carry no epoch: it is that of the step after which they were set.
double LossHistory::place(const training::Marker& marker) const {
  if (over() != Over::epoch) return position(marker.step, 0, marker.seconds);
  return place_of(marker.step).value_or(0);
}

void LossHistory::append_row(MetricCurves& curves, std::size_t row) {
  if (facts_of(curves.choice.metric).steps[0] == '\0') return;
  const double x = position(steps_, row);
  const float value = steps_.of(curves.choice.metric)[row];
  curves.train.append(x, value);
  if (curves.averages()) curves.smoothed.append(x, curves.smoother.next(value));
}

void LossHistory::append_test(MetricCurves& curves, const training::TestPoint& point) const {
  const Metric metric = curves.choice.metric;
  if (facts_of(metric).test[0] == '\0') return;
  const float value = shown_value(metric, value_of(metric, point));
  if (metric == Metric::psnr && !std::isfinite(value)) return;  // of a network that classifies
  plot::Series& series = point.split == training::Split::test ? curves.test : curves.validation;
  series.append(position(point.step, point.epoch, point.seconds), value);
}

void LossHistory::append_marker(const training::Marker& marker) {
  markers_.push_back({marker.step, {place(marker), marker.text}});
}

// The training went back, to earlier weights or a checkpoint: what came after that step is not its past any
// more.
void LossHistory::go_back_to(std::uint64_t step) {
  const auto kept = std::lower_bound(steps_.step.begin(), steps_.step.end(), step) - steps_.step.begin();
  steps_.cut(static_cast<std::size_t>(kept));
  std::erase_if(tests_, [step](const training::TestPoint& test) { return test.step >= step; });
  rebuild();
}

void LossHistory::take(const training::LossPoint& point) {
  if (!steps_.empty() && point.step <= steps_.step.back()) go_back_to(point.step);
  const std::array<double, kMetrics> values{
      point.loss,          point.accuracy,   point.gradient_norm,     point.update_ratio,
      point.learning_rate, point.loss_scale, point.images_per_second, kNoValue};
  steps_.step.push_back(point.step);
  steps_.seconds.push_back(point.seconds);
  steps_.epoch.push_back(static_cast<float>(point.epoch));
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const float shown = shown_value(static_cast<Metric>(i), values[i]);
    steps_.values[i].append(shown);
    seen_[i] = seen_[i] || tells(static_cast<Metric>(i), shown);
  }
  const std::size_t row = steps_.size() - 1;
  if (point.skipped) steps_.skipped.push_back(row);
  for (MetricCurves& curves : curves_) {
    if (point.skipped && curves.choice.metric == Metric::loss_scale)
      curves.skipped.append(position(steps_, row), point.loss_scale);
    append_row(curves, row);
  }
}

void LossHistory::take(const training::TestPoint& point) {
  last_test_ = point;
  tests_.push_back(point);
  bool& seen = seen_[static_cast<std::size_t>(Metric::psnr)];
  seen = seen || tells(Metric::psnr, point.psnr);
  for (MetricCurves& curves : curves_) append_test(curves, point);
}

void LossHistory::consume(const training::FeedItem& item) {
  std::visit(
      [this](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, training::LossPoint> || std::is_same_v<T, training::TestPoint>) {
          take(value);
        } else if constexpr (std::is_same_v<T, training::Marker>) {
          raw_markers_.push_back(value);
          append_marker(value);
        } else if constexpr (std::is_same_v<T, training::Restart>) {
          restart();
        }
      },
      item);
}

void LossHistory::restart() {
  // A reset before the first step keeps the older curve for comparison.
  if (!steps_.empty()) steps_before_ = std::exchange(steps_, {});
  tests_.clear();
  raw_markers_.clear();
  last_test_ = {};
  seen_ = {};
  rebuild();
}

void LossHistory::choose(std::span<const CurveChoice> choices) {
  const bool same_axis = choices.front().over == over();
  const std::size_t before = curves_.size();
  curves_.resize(choices.size());
  // The axis is that of the first: all have to know it before any is made anew.
  std::vector<bool> changed;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    changed.push_back(i >= before || !(curves_[i].choice == choices[i]));
    curves_[i].choice = choices[i];
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (changed[i]) rebuild(curves_[i]);
  }
  if (same_axis) return;
  markers_.clear();
  for (const auto& marker : raw_markers_) append_marker(marker);
}

void LossHistory::rebuild(MetricCurves& curves) {
  for (plot::Series* series :
       {&curves.train, &curves.smoothed, &curves.test, &curves.validation, &curves.before, &curves.skipped})
    series->clear();
  const CurveChoice& choice = curves.choice;
  curves.smoother = plot::Smoother(plot::weight_for(choice.smoothing));
  for (std::size_t row = 0; row < steps_.size(); ++row) append_row(curves, row);
  if (choice.metric == Metric::loss_scale) {
    for (const std::size_t row : steps_.skipped)
      curves.skipped.append(position(steps_, row), steps_.of(choice.metric)[row]);
  }
  for (const auto& point : tests_) append_test(curves, point);
  if (facts_of(choice.metric).steps[0] == '\0') return;
  plot::Smoother smoother(plot::weight_for(curves.averages() ? choice.smoothing : 1));
  const CompactColumn& before = steps_before_.of(choice.metric);
  for (std::size_t row = 0; row < steps_before_.size(); ++row)
    curves.before.append(position(steps_before_, row), smoother.next(before[row]));
}

void LossHistory::rebuild() {
  for (MetricCurves& curves : curves_) rebuild(curves);
  markers_.clear();
  for (const auto& marker : raw_markers_) append_marker(marker);
}

std::size_t LossHistory::row_at(double x) const {
  std::size_t low = 0, high = steps_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (position(steps_, middle) < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return 0;
  if (low == steps_.size()) return low - 1;
  return x - position(steps_, low - 1) <= position(steps_, low) - x ? low - 1 : low;
}

std::optional<std::uint64_t> LossHistory::step_at(double x) const {
  if (steps_.empty()) return {};
  return steps_.step[row_at(x)];
}

std::string LossHistory::describe(double x) const {
  if (steps_.empty()) return {};
  const std::size_t row = row_at(x);
  return fmt::format("step {} \xC2\xB7 epoch {:.2f} \xC2\xB7 {} \xC2\xB7 rate {:.4g}",
                     with_thousands(steps_.step[row]), steps_.epoch[row], clock_text(steps_.seconds[row]),
                     steps_.of(Metric::learning_rate)[row]);
}

}  // namespace warpscope::ui
