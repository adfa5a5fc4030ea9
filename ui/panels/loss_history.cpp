#include "ui/panels/loss_history.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "ui/numbers.h"

namespace warpscope::ui {
namespace {

using runs::Over;

// True if `metric` was measured.
bool tells(Metric metric, float value) {
  return metric == Metric::loss_scale ? value != 1 : std::isfinite(value) && value != 0;
}

}  // namespace

double LossHistory::position(std::uint64_t step, double epoch, double seconds) const {
  switch (choice_.over) {
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

// Markers carry no epoch: it is that of the step after which they were set.
double LossHistory::place(const training::Marker& marker) const {
  if (choice_.over != Over::epoch) return position(marker.step, 0, marker.seconds);
  const auto after = std::upper_bound(steps_.step.begin(), steps_.step.end(), marker.step);
  if (after == steps_.step.begin()) return 0;
  return static_cast<double>(steps_.epoch[static_cast<std::size_t>(after - steps_.step.begin()) - 1]);
}

bool LossHistory::averages() const {
  return choice_.smoothing > 1 && facts_of(choice_.metric).smooths;
}

void LossHistory::append_row(std::size_t row) {
  const double x = position(steps_, row);
  const float value = steps_.of(choice_.metric)[row];
  train_.append(x, value);
  if (averages()) smoothed_.append(x, smoother_.next(value));
}

void LossHistory::append_test(const training::TestPoint& point) {
  if (choice_.metric != Metric::loss && choice_.metric != Metric::accuracy) return;
  plot::Series& series = point.split == training::Split::test ? test_ : validation_;
  series.append(position(point.step, point.epoch, point.seconds),
                shown_value(choice_.metric, choice_.metric == Metric::loss ? point.loss : point.accuracy));
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
      point.loss,          point.accuracy,   point.gradient_norm,    point.update_ratio,
      point.learning_rate, point.loss_scale, point.images_per_second};
  steps_.step.push_back(point.step);
  steps_.seconds.push_back(point.seconds);
  steps_.epoch.push_back(static_cast<float>(point.epoch));
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const float shown = shown_value(static_cast<Metric>(i), values[i]);
    steps_.values[i].append(shown);
    seen_[i] = seen_[i] || tells(static_cast<Metric>(i), shown);
  }
  const std::size_t row = steps_.size() - 1;
  if (point.skipped) {
    steps_.skipped.push_back(row);
    if (choice_.metric == Metric::loss_scale) skipped_.append(position(steps_, row), point.loss_scale);
  }
  append_row(row);
}

void LossHistory::consume(const training::FeedItem& item) {
  std::visit(
      [this](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, training::LossPoint>) {
          take(value);
        } else if constexpr (std::is_same_v<T, training::TestPoint>) {
          last_test_ = value;
          tests_.push_back(value);
          append_test(value);
        } else if constexpr (std::is_same_v<T, training::Marker>) {
          raw_markers_.push_back(value);
          markers_.push_back({place(value), value.text});
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

void LossHistory::choose(const CurveChoice& choice) {
  if (choice == choice_) return;
  choice_ = choice;
  rebuild();
}

void LossHistory::rebuild() {
  for (plot::Series* series : {&train_, &smoothed_, &test_, &validation_, &before_, &skipped_})
    series->clear();
  markers_.clear();
  smoother_ = plot::Smoother(plot::weight_for(choice_.smoothing));
  for (std::size_t row = 0; row < steps_.size(); ++row) append_row(row);
  if (choice_.metric == Metric::loss_scale) {
    for (const std::size_t row : steps_.skipped)
      skipped_.append(position(steps_, row), steps_.of(choice_.metric)[row]);
  }
  for (const auto& point : tests_) append_test(point);
  for (const auto& marker : raw_markers_) markers_.push_back({place(marker), marker.text});
  plot::Smoother smoother(plot::weight_for(averages() ? choice_.smoothing : 1));
  const CompactColumn& before = steps_before_.of(choice_.metric);
  for (std::size_t row = 0; row < steps_before_.size(); ++row)
    before_.append(position(steps_before_, row), smoother.next(before[row]));
}

std::string LossHistory::describe(double x) const {
  if (train_.empty()) return {};
  const std::size_t row = train_.nearest(x);
  return fmt::format("step {} \xC2\xB7 epoch {:.2f} \xC2\xB7 {} \xC2\xB7 rate {:.4g}",
                     with_thousands(steps_.step[row]), steps_.epoch[row], clock_text(steps_.seconds[row]),
                     steps_.of(Metric::learning_rate)[row]);
}

}  // namespace warpscope::ui
