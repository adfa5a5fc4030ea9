#pragma once
// Every step, test and marker of the training, and the curves of some metrics over steps, epochs or time. No
// drawing here.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/runs/curves.h"
#include "ui/panels/loss_metrics.h"
#include "ui/panels/marker_rows.h"
#include "ui/panels/step_table.h"
#include "ui/plot/curve.h"
#include "ui/plot/smoothing.h"

namespace warpscope::ui {

/// What the curves of a plot are made of.
struct CurveChoice {
  Metric metric = Metric::loss;
  runs::Over over = runs::Over::step;
  double smoothing = 20;  ///< the average covers about this many steps; 1: none
  bool operator==(const CurveChoice&) const = default;
};

/// The curves of one metric.
struct MetricCurves {
  CurveChoice choice;
  plot::Series train;       ///< the value of each step; gaps where there is none
  plot::Series smoothed;    ///< train, averaged; empty if nothing is to be averaged
  plot::Series test;        ///< held-out images
  plot::Series validation;  ///< likewise
  plot::Series
      before;  ///< the training before the last restart, averaged as the choice says; empty without one
  plot::Series skipped;  ///< the steps whose update was skipped; of the loss scale alone
  plot::Smoother smoother{plot::weight_for(20)};  ///< of `smoothed`

  bool averages() const { return choice.smoothing > 1 && facts_of(choice.metric).smooths; }
};

class LossHistory {
 public:
  void consume(const training::FeedItem& item);
  /// Makes anew the curves whose choice is another. The steps stay as they are. All choices have one axis.
  void choose(std::span<const CurveChoice> choices);
  void choose(const CurveChoice& choice) { choose({&choice, 1}); }

  /// Of the i-th choice.
  const MetricCurves& curves(std::size_t i = 0) const { return curves_[i]; }
  std::size_t plots() const { return curves_.size(); }
  runs::Over over() const { return curves_.front().choice.over; }
  const std::vector<PlacedMarker>& markers() const { return markers_; }
  /// "step 1,234 · epoch 3.21 · 0:12 · rate 0.1" of the step nearest to x.
  std::string describe(double x) const;
  /// The step nearest to x; nothing before the first one.
  std::optional<std::uint64_t> step_at(double x) const;
  /// Where a step stands, or the one before it if there is none of that number; nothing before the first one.
  std::optional<double> place_of(std::uint64_t step) const;
  /// x of the newest step; 0 before the first one.
  double end() const { return steps_.empty() ? 0 : position(steps_, steps_.size() - 1); }
  const MetricsSeen& seen() const { return seen_; }
  /// The newest test; its step is 0 if there was none.
  const training::TestPoint& last_test() const { return last_test_; }
  std::size_t steps() const { return steps_.size(); }

 private:
  double position(std::uint64_t step, double epoch, double seconds) const;
  double position(const StepTable& table, std::size_t row) const;
  double place(const training::Marker& marker) const;
  std::size_t row_at(double x) const;
  void append_row(MetricCurves& curves, std::size_t row);
  void append_test(MetricCurves& curves, const training::TestPoint& point) const;
  void append_marker(const training::Marker& marker);
  void take(const training::LossPoint& point);
  void take(const training::TestPoint& point);
  void go_back_to(std::uint64_t step);
  void restart();
  void rebuild(MetricCurves& curves);
  void rebuild();

  StepTable steps_, steps_before_;
  MetricsSeen seen_{};
  std::vector<training::TestPoint> tests_;
  std::vector<training::Marker> raw_markers_;
  std::vector<MetricCurves> curves_ = std::vector<MetricCurves>(1);
  std::vector<PlacedMarker> markers_;
  training::TestPoint last_test_;
};

}  // namespace warpscope::ui
