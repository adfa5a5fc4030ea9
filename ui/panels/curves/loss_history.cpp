#include "ui/panels/curves/loss_history.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "ui/panels/training/let_go.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using runs::Over;

constexpr std::size_t kFreedAtOnce = 100'000;
constexpr std::size_t kMostEarlier = 9;  // trainings that can be gone back to, and the empty one at first

// Curves that differ only in their axis are the same.
bool same_curves(const CurveChoice& a, const CurveChoice& b) {
  return a.metric == b.metric && a.smoothing == b.smoothing;
}

bool has_steps(Metric metric) {
  return !facts_of(metric).steps.empty();
}

float next_average(plot::Smoother& smoother, const StepTable& steps, std::size_t row, float value) {
  if (steps.begins_anew(row)) smoother.begin_anew();
  return smoother.next(value);
}

void push(std::vector<double>& column, double x) {
  column.push_back(column.empty() || x >= column.back() ? x : column.back());
}

}  // namespace

LossHistory::LossHistory(bool keeps_earlier) : keeps_earlier_(keeps_earlier), choices_(1) {
  plots_.push_back({without_steps({}), {}});
}

double LossHistory::position(std::uint64_t step, double epoch, double seconds) const {
  switch (over_) {
    case Over::epoch:
      return epoch;
    case Over::seconds:
      return seconds;
    default:
      return static_cast<double>(step);
  }
}

std::optional<double> LossHistory::place_of(std::uint64_t step) const {
  const auto& numbers = steps_.over(Over::step);
  const auto after = std::upper_bound(numbers.begin(), numbers.end(), static_cast<double>(step));
  if (after == numbers.begin()) return {};
  return steps_.over(over_)[static_cast<std::size_t>(after - numbers.begin()) - 1];
}

// Markers carry no epoch: it is that of the step after which they were set.
double LossHistory::place(const training::Marker& marker) const {
  if (over_ != Over::epoch) return position(marker.step, 0, marker.seconds);
  return place_of(marker.step).value_or(0);
}

void LossHistory::append_row(MetricCurves& curves, std::size_t row) const {
  if (!has_steps(curves.choice.metric) || curves.train.size() != row) return;  // a draft is to come
  const float value = steps_.of(curves.choice.metric)[row];
  curves.train.append(value);
  if (curves.averages()) curves.smoothed.append(next_average(curves.smoother, steps_, row, value));
}

void LossHistory::append_skipped(MetricCurves& curves, std::size_t row) const {
  if (curves.choice.metric != Metric::loss_scale) return;
  curves.skipped.append(steps_.over(over_)[row], steps_.of(Metric::loss_scale)[row]);
}

void LossHistory::append_test(MetricCurves& curves, const training::Point& point) const {
  const Metric metric = curves.choice.metric;
  // A loss that is not a number was measured all the same.
  const bool gap = metric == Metric::loss && !point.is_probe();
  if (facts_of(metric).test.empty() || (std::isnan(point[metric]) && !gap)) return;
  plot::Series& series = point.split == training::Split::test ? curves.test : curves.validation;
  series.append(position(point.step, point.epoch, point.seconds),
                shown_value(metric, static_cast<double>(point[metric])));
}

void LossHistory::append_marker(const training::Marker& marker) {
  markers_.push_back({marker.step, {place(marker), marker.text}});
}

void LossHistory::place_markers() {
  markers_.clear();
  for (const auto& marker : raw_markers_) append_marker(marker);
}

// The few points that are not one a step.
void LossHistory::fill_tests(MetricCurves& curves) const {
  for (plot::Series* series : {&curves.test, &curves.validation, &curves.skipped}) series->clear();
  for (const std::size_t row : steps_.skipped) append_skipped(curves, row);
  for (const auto& point : tests_) append_test(curves, point);
}

void LossHistory::use_axis(MetricCurves& curves) const {
  curves.choice.over = over_;
  curves.train.share_x(steps_.over(over_));
  curves.smoothed.share_x(steps_.over(over_));
  curves.before.share_x(steps_before().over(over_));
  fill_tests(curves);
}

MetricCurves LossHistory::without_steps(const CurveChoice& choice) const {
  MetricCurves curves;
  curves.choice = choice;
  curves.smoother = plot::Smoother(plot::weight_for(choice.smoothing));
  use_axis(curves);
  return curves;
}

LossHistory::Draft LossHistory::new_draft(const CurveChoice& choice, const MetricCurves& shown) const {
  const bool same_steps = shown.choice.metric == choice.metric && shown.train.size() == steps_.size();
  Draft draft{without_steps(choice), plot::Smoother(0), same_steps};
  MetricCurves& curves = draft.curves;
  draft.before = plot::Smoother(plot::weight_for(curves.averages() ? choice.smoothing : 1));
  if (!has_steps(choice.metric)) return draft;
  if (!draft.takes_steps) curves.train.reserve(steps_.size());
  if (curves.averages()) curves.smoothed.reserve(steps_.size());
  curves.before.reserve(steps_before().size());
  return draft;
}

// True once it is whole. Takes the rows it made from `rows`.
bool LossHistory::advance(Draft& draft, const MetricCurves& shown, std::size_t& rows) const {
  MetricCurves& curves = draft.curves;
  if (!has_steps(curves.choice.metric)) return true;
  if (draft.takes_steps) {
    const std::size_t averages = curves.averages() ? shown.train.size() : 0;
    for (; rows > 0 && curves.smoothed.size() < averages; --rows) {
      const std::size_t row = curves.smoothed.size();
      curves.smoothed.append(next_average(curves.smoother, steps_, row, shown.train.y(row)));
    }
    if (curves.smoothed.size() < averages) return false;
  }
  const std::size_t steps = draft.takes_steps ? 0 : steps_.size();
  for (; rows > 0 && curves.train.size() < steps; --rows) append_row(curves, curves.train.size());
  const CompactColumn& before = steps_before().of(curves.choice.metric);
  for (; rows > 0 && curves.before.size() < steps_before().size(); --rows) {
    const std::size_t row = curves.before.size();
    curves.before.append(next_average(draft.before, steps_before(), row, before[row]));
  }
  return curves.train.size() == steps && curves.before.size() == steps_before().size();
}

// Memory of many steps takes milliseconds to free.
void LossHistory::show(PlotCurves& plot) {
  auto old = std::make_unique<MetricCurves>(std::exchange(plot.shown, std::move(plot.draft->curves)));
  if (plot.draft->takes_steps) plot.shown.train = std::exchange(old->train, {});
  plot.draft.reset();
  use_axis(plot.shown);  // with what has come, and the axis chosen, while it was made
  if (old->train.size() + old->smoothed.size() > kFreedAtOnce)
    freed_ = let_go(std::move(old), std::move(freed_));
}

void LossHistory::advance(std::size_t rows) {
  for (PlotCurves& plot : plots_) {
    if (plot.draft && advance(*plot.draft, plot.shown, rows)) show(plot);
  }
}

bool LossHistory::busy() const {
  return std::any_of(plots_.begin(), plots_.end(),
                     [](const PlotCurves& plot) { return plot.draft.has_value(); });
}

void LossHistory::choose(std::span<const CurveChoice> choices, std::size_t rows) {
  if (std::equal(choices.begin(), choices.end(), choices_.begin(), choices_.end())) return;
  choices_.assign(choices.begin(), choices.end());
  const bool other_axis = std::exchange(over_, choices.front().over) != over_;
  std::vector<std::optional<PlotCurves>> before;
  for (PlotCurves& plot : plots_) before.emplace_back(std::move(plot));
  plots_.clear();
  // Where a plot was closed, those behind it move up with their curves.
  const auto find = [&](std::size_t i) {
    const auto fits = [&](const auto& plot) { return plot && same_curves(plot->shown.choice, choices_[i]); };
    if (i < before.size() && fits(before[i])) return before.begin() + static_cast<std::ptrdiff_t>(i);
    return std::find_if(before.begin(), before.end(), fits);
  };
  std::vector<bool> whole;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const auto found = find(i);
    whole.push_back(found != before.end());
    plots_.push_back(whole.back() ? PlotCurves{std::move(std::exchange(*found, {})->shown), {}}
                                  : PlotCurves{without_steps(choices_[i]), {}});
  }
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (whole[i]) continue;
    if (i < before.size() && before[i]) plots_[i] = std::move(*before[i]);
    auto& draft = plots_[i].draft;
    if (!draft || !same_curves(draft->curves.choice, choices_[i]))
      draft = new_draft(choices_[i], plots_[i].shown);
  }
  if (other_axis) {
    for (PlotCurves& plot : plots_) use_axis(plot.shown);
    place_markers();
  }
  advance(rows);
}

// The training went back, to earlier weights or a checkpoint: what came after that step is not its past any
// more.
void LossHistory::go_back_to(std::uint64_t step) {
  const auto& numbers = steps_.over(Over::step);
  const auto kept = static_cast<std::size_t>(
      std::lower_bound(numbers.begin(), numbers.end(), static_cast<double>(step)) - numbers.begin());
  steps_.cut(kept);
  const auto later = [step](const auto& point) { return point.step >= step; };
  std::erase_if(tests_, later);
  for (PlotCurves& plot : plots_) {
    cut(plot.shown, kept);
    if (plot.draft) plot.draft = new_draft(plot.draft->curves.choice, plot.shown);
  }
  place_markers();
}

void LossHistory::cut(MetricCurves& curves, std::size_t rows) const {
  curves.train.cut(rows);
  curves.smoothed.cut(rows);
  fill_tests(curves);
  if (!curves.averages()) return;
  curves.smoother = plot::Smoother(plot::weight_for(curves.choice.smoothing));
  for (std::size_t row = 0; row < curves.train.size(); ++row)
    next_average(curves.smoother, steps_, row, curves.train.y(row));
}

void LossHistory::take_step(const training::Point& point) {
  if (!steps_.empty() && static_cast<double>(point.step) <= steps_.over(Over::step).back())
    go_back_to(point.step);
  const std::array<double, kOvers> places{static_cast<double>(point.step), point.epoch, point.seconds};
  for (std::size_t i = 0; i < kOvers; ++i) push(steps_.x[i], places[i]);
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    const float shown = shown_value(metric, static_cast<double>(point[metric]));
    steps_.values[i].append(shown);
    seen_[i] = seen_[i] || std::isfinite(shown);
  }
  const std::size_t row = steps_.size() - 1;
  if (point.skipped) steps_.skipped.push_back(row);
  for (PlotCurves& plot : plots_) {
    append_row(plot.shown, row);
    if (point.skipped) append_skipped(plot.shown, row);
  }
}

void LossHistory::take_test(const training::Point& point) {
  const auto of_this_kind = [&](const auto& test) { return test.is_probe() == point.is_probe(); };
  const auto last = std::find_if(tests_.rbegin(), tests_.rend(), of_this_kind);
  // A probe that began before the training went back to an earlier step may come late.
  if (point.is_probe() && last != tests_.rend() && point.step < last->step) return;
  tests_.push_back(point);
  for (const training::MetricRow& row : training::metrics()) {
    bool& seen = seen_[static_cast<std::size_t>(row.metric)];
    seen = seen || (row.steps.empty() && std::isfinite(point[row.metric]));
  }
  for (PlotCurves& plot : plots_) append_test(plot.shown, point);
}

// One of a run that is read may come after the steps behind it.
void LossHistory::take_marker(const training::Marker& marker) {
  raw_markers_.push_back(marker);
  append_marker(marker);
  if (!marker.anew) return;
  const auto step = static_cast<double>(marker.step);
  steps_.breaks.insert(std::upper_bound(steps_.breaks.begin(), steps_.breaks.end(), step), step);
  if (steps_.empty() || step >= steps_.over(Over::step).back()) return;
  for (PlotCurves& plot : plots_) {
    plot.draft = new_draft(plot.draft ? plot.draft->curves.choice : plot.shown.choice, plot.shown);
  }
}

void LossHistory::consume(const training::FeedItem& item) {
  std::visit(
      [this](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, training::Point>) {
          value.split == training::Split::train ? take_step(value) : take_test(value);
        } else if constexpr (std::is_same_v<T, training::Marker>) {
          take_marker(value);
        } else if constexpr (std::is_same_v<T, training::Restart>) {
          restart(value.generation);
        } else if constexpr (std::is_same_v<T, training::Return>) {
          go_on(value);
        }
      },
      item);
}

// Puts what there is behind the former ones. A restart before the first step keeps the older curve for comparison.
void LossHistory::set_aside() {
  if (!steps_.empty() && keeps_earlier_)
    earlier_.push_back({generation_, std::move(steps_), seen_, std::move(tests_), std::move(raw_markers_)});
  if (earlier_.size() > kMostEarlier) earlier_.pop_front();
  steps_ = {};
  tests_.clear();
  raw_markers_.clear();
  markers_.clear();
  seen_ = {};
}

void LossHistory::restart(std::uint64_t generation) {
  const bool keeps = !steps_.empty() && keeps_earlier_;
  set_aside();
  generation_ = generation;
  for (PlotCurves& plot : plots_) {
    begin_anew(plot.shown, keeps);
    if (plot.draft) plot.draft = new_draft(plot.draft->curves.choice, plot.shown);
  }
}

// The curve of another generation up to a step is the one that goes on.
void LossHistory::go_on(const training::Return& back) {
  set_aside();
  generation_ = back.generation;
  const auto from = std::find_if(earlier_.rbegin(), earlier_.rend(),
                                 [&](const Earlier& each) { return each.generation == back.from; });
  if (from != earlier_.rend()) {
    steps_ = from->steps;
    seen_ = from->seen;
    tests_ = from->tests;
    raw_markers_ = from->markers;
    const auto& numbers = steps_.over(Over::step);
    steps_.cut(static_cast<std::size_t>(
        std::upper_bound(numbers.begin(), numbers.end(), static_cast<double>(back.step)) - numbers.begin()));
    const auto later = [&](const auto& point) { return point.step > back.step; };
    std::erase_if(tests_, later);
    std::erase_if(raw_markers_, later);
  }
  place_markers();
  for (PlotCurves& plot : plots_) {
    const CurveChoice choice = plot.draft ? plot.draft->curves.choice : plot.shown.choice;
    plot.shown = without_steps(plot.shown.choice);
    plot.draft = new_draft(choice, plot.shown);
  }
  advance(kAtOnce);
}

// `keeps`: its steps are those before the restart now.
void LossHistory::begin_anew(MetricCurves& curves, bool keeps) const {
  plot::Series before =
      keeps ? std::move(curves.averages() ? curves.smoothed : curves.train) : std::move(curves.before);
  curves = without_steps(curves.choice);
  curves.before = std::move(before);
  curves.before.share_x(steps_before().over(over_));
}

std::size_t LossHistory::row_at(double x) const {
  const auto& places = steps_.over(over_);
  const auto found =
      static_cast<std::size_t>(std::lower_bound(places.begin(), places.end(), x) - places.begin());
  if (found == 0) return 0;
  if (found == places.size()) return found - 1;
  return x - places[found - 1] <= places[found] - x ? found - 1 : found;
}

std::optional<std::uint64_t> LossHistory::step_at(double x) const {
  if (steps_.empty()) return {};
  return static_cast<std::uint64_t>(steps_.over(Over::step)[row_at(x)]);
}

std::string LossHistory::describe(double x) const {
  if (steps_.empty()) return {};
  const std::size_t row = row_at(x);
  return fmt::format("step {} \xC2\xB7 epoch {:.2f} \xC2\xB7 {} \xC2\xB7 rate {:.4g}",
                     with_thousands(static_cast<std::uint64_t>(steps_.over(Over::step)[row])),
                     steps_.over(Over::epoch)[row], clock_text(steps_.over(Over::seconds)[row]),
                     steps_.of(Metric::learning_rate)[row]);
}

}  // namespace warpscope::ui
