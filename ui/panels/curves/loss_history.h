#pragma once
// Every step, test and marker of the training, and the curves of some metrics over steps, epochs or time. No
// drawing here.

#include <cstdint>
#include <future>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/runs/curves.h"
#include "ui/panels/curves/loss_metrics.h"
#include "ui/panels/curves/marker_rows.h"
#include "ui/panels/curves/step_table.h"
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
  plot::Series skipped;  ///< the steps whose update was skipped; only of the loss scale
  plot::Smoother smoother{plot::weight_for(20)};  ///< of `smoothed`

  bool averages() const { return choice.smoothing > 1 && facts_of(choice.metric).smooths; }
};

/// Curves of any length are made in slices, so that no frame waits for them: the former ones stay until the new ones
/// are whole. Another axis takes no time at all, since all curves of the steps share the columns of their table.
class LossHistory {
 public:
  static constexpr std::size_t kAtOnce = 20'000;  ///< rows: a small part of what a frame may take

  /// `keeps_earlier`: for comparison, and to go back to; else a restart drops what there was.
  explicit LossHistory(bool keeps_earlier = true);
  LossHistory(const LossHistory&) = delete;
  LossHistory& operator=(const LossHistory&) = delete;

  void consume(const training::FeedItem& item);
  /// Begins the curves whose choice is new and makes the first `rows` of them at once. The steps stay as they are. All
  /// choices have one axis.
  void choose(std::span<const CurveChoice> choices, std::size_t rows = kAtOnce);
  void choose(const CurveChoice& choice) { choose({&choice, 1}); }
  /// Goes on with the curves that are being made, by about `rows` steps.
  void advance(std::size_t rows);
  /// True while some are being made.
  bool busy() const;
  bool busy(std::size_t i) const { return plots_[i].draft.has_value(); }

  /// The curves of the i-th choice; while they are being made, of the choice before.
  const MetricCurves& curves(std::size_t i = 0) const { return plots_[i].shown; }
  std::size_t plots() const { return plots_.size(); }
  runs::Over over() const { return over_; }
  const std::vector<PlacedMarker>& markers() const { return markers_; }
  /// "step 1,234 · epoch 3.21 · 0:12 · rate 0.1" of the step nearest to x.
  std::string describe(double x) const;
  /// The step nearest to x; nothing before the first one.
  std::optional<std::uint64_t> step_at(double x) const;
  /// Where a step stands, or the one before it if there is none of that number; nothing before the first one.
  std::optional<double> place_of(std::uint64_t step) const;
  /// x of the newest step; 0 before the first one.
  double end() const { return steps_.empty() ? 0 : steps_.over(over_).back(); }
  const MetricsSeen& seen() const { return seen_; }
  std::size_t steps() const { return steps_.size(); }

 private:
  /// Curves that are not whole yet.
  struct Draft {
    MetricCurves curves;
    plot::Smoother before;  ///< of curves.before
    /// The steps of the curves shown are its own too and are taken over in the end; only the averages are made.
    bool takes_steps = false;
  };
  struct PlotCurves {
    MetricCurves shown;
    std::optional<Draft> draft;
  };

  double position(std::uint64_t step, double epoch, double seconds) const;
  double place(const training::Marker& marker) const;
  std::size_t row_at(double x) const;
  MetricCurves without_steps(const CurveChoice& choice) const;
  Draft new_draft(const CurveChoice& choice, const MetricCurves& shown) const;
  bool advance(Draft& draft, const MetricCurves& shown, std::size_t& rows) const;
  void show(PlotCurves& plot);
  void use_axis(MetricCurves& curves) const;
  void fill_tests(MetricCurves& curves) const;
  void append_row(MetricCurves& curves, std::size_t row) const;
  void append_skipped(MetricCurves& curves, std::size_t row) const;
  void append_test(MetricCurves& curves, const training::Point& point) const;
  void append_marker(const training::Marker& marker);
  void place_markers();
  void take_step(const training::Point& point);
  void take_test(const training::Point& point);
  void take_marker(const training::Marker& marker);
  void go_back_to(std::uint64_t step);
  void cut(MetricCurves& curves, std::size_t rows) const;
  void restart(std::uint64_t generation);
  void go_on(const training::Return& back);
  void set_aside();
  void begin_anew(MetricCurves& curves, bool keeps) const;

  /// A training before the last restart or return.
  struct Earlier {
    std::uint64_t generation = 0;
    StepTable steps;
    MetricsSeen seen{};
    std::vector<training::Point> tests;
    std::vector<training::Marker> markers;
  };
  const StepTable& steps_before() const { return earlier_.back().steps; }

  bool keeps_earlier_;
  StepTable steps_;                                     // the curves point into it, and into steps_before()
  std::list<Earlier> earlier_ = std::list<Earlier>(1);  // the newest last
  std::uint64_t generation_ = 0;
  MetricsSeen seen_{};
  std::vector<training::Point> tests_;
  std::vector<training::Marker> raw_markers_;
  runs::Over over_ = runs::Over::step;
  std::vector<CurveChoice> choices_;
  std::vector<PlotCurves> plots_;
  std::vector<PlacedMarker> markers_;
  std::future<void> freed_;  ///< curves that are shown no more
};

}  // namespace warpscope::ui
