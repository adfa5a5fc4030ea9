#include "ui/panels/loss_history.h"

#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "ui/numbers.h"

namespace warpscope::ui {

double LossHistory::position(std::uint64_t step, double seconds) const {
  return over_time_ ? seconds : static_cast<double>(step);
}

void LossHistory::append(const Step& step) {
  const double x = position(step.step, step.seconds);
  train_.append(x, step.loss);
  smoothed_.append(x, smoother_.next(step.loss));
}

void LossHistory::append(const training::TestPoint& point) {
  test_.append(position(point.step, point.seconds), point.loss);
}

void LossHistory::append(const training::Marker& marker) {
  markers_.push_back({position(marker.step, marker.seconds), marker.text});
}

void LossHistory::consume(const training::FeedItem& item) {
  std::visit(
      [this](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, training::LossPoint>) {
          steps_.push_back(
              {value.step, value.seconds, static_cast<float>(value.epoch), value.loss, value.learning_rate});
          append(steps_.back());
        } else if constexpr (std::is_same_v<T, training::TestPoint>) {
          last_test_ = value;
          tests_.push_back(value);
          append(value);
        } else if constexpr (std::is_same_v<T, training::Marker>) {
          raw_markers_.push_back(value);
          append(value);
        } else if constexpr (std::is_same_v<T, training::Restart>) {
          restart();
        }
      },
      item);
}

void LossHistory::restart() {
  // A reset before the first step leaves the older curve to compare with.
  if (!steps_.empty()) steps_before_ = std::exchange(steps_, {});
  tests_.clear();
  raw_markers_.clear();
  last_test_ = {};
  rebuild();
}

void LossHistory::set_over_time(bool over_time) {
  if (over_time == over_time_) return;
  over_time_ = over_time;
  rebuild();
}

void LossHistory::set_smoothing(double steps) {
  if (steps == smoothing_) return;
  smoothing_ = steps;
  smooth_again();
}

void LossHistory::rebuild() {
  train_.clear();
  test_.clear();
  markers_.clear();
  for (const Step& step : steps_) train_.append(position(step.step, step.seconds), step.loss);
  for (const auto& point : tests_) append(point);
  for (const auto& marker : raw_markers_) append(marker);
  smooth_again();
}

void LossHistory::smooth_again() {
  smoothed_.clear();
  before_.clear();
  smoother_ = plot::Smoother(plot::weight_for(smoothing_));
  for (const Step& step : steps_)
    smoothed_.append(position(step.step, step.seconds), smoother_.next(step.loss));
  plot::Smoother smoother(plot::weight_for(smoothing_));
  for (const Step& step : steps_before_)
    before_.append(position(step.step, step.seconds), smoother.next(step.loss));
}

std::string LossHistory::describe(double x) const {
  if (train_.empty()) return {};
  const Step& step = steps_[train_.nearest(x)];
  return fmt::format("step {} \xC2\xB7 epoch {:.2f} \xC2\xB7 {} \xC2\xB7 rate {:.4g}",
                     with_thousands(step.step), step.epoch, clock_text(step.seconds), step.learning_rate);
}

}  // namespace warpscope::ui
