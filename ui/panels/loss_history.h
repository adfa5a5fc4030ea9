#pragma once
// Every step, test and marker of the training, and the curves of one metric over steps, epochs or time. No
// drawing here.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/runs/curves.h"
#include "ui/panels/loss_metrics.h"
#include "ui/panels/step_table.h"
#include "ui/plot/curve.h"
#include "ui/plot/flags.h"
#include "ui/plot/smoothing.h"

namespace warpscope::ui {

/// What the curves are made of.
struct CurveChoice {
  Metric metric = Metric::loss;
  runs::Over over = runs::Over::step;
  double smoothing = 20;  ///< the average covers about this many steps; 1: none
  bool operator==(const CurveChoice&) const = default;
};

class LossHistory {
 public:
  void consume(const training::FeedItem& item);
  /// Makes the curves anew if the choice is another. The steps stay as they are.
  void choose(const CurveChoice& choice);
  const CurveChoice& choice() const { return choice_; }

  /// The value of each step; gaps where there is none.
  const plot::Series& train() const { return train_; }
  /// train(), averaged; empty if nothing is to be averaged.
  const plot::Series& smoothed() const { return smoothed_; }
  /// Held-out images.
  const plot::Series& test() const { return test_; }
  const plot::Series& validation() const { return validation_; }
  /// The training before the last restart, averaged as the choice says; empty if there was none.
  const plot::Series& before() const { return before_; }
  /// The steps whose update was skipped; of the loss scale alone.
  const plot::Series& skipped() const { return skipped_; }
  const std::vector<plot::Marker>& markers() const { return markers_; }
  /// "step 1,234 · epoch 3.21 · 0:12 · rate 0.1" of the step nearest to x.
  std::string describe(double x) const;
  const MetricsSeen& seen() const { return seen_; }
  /// The newest test; its step is 0 if there was none.
  const training::TestPoint& last_test() const { return last_test_; }
  std::size_t steps() const { return steps_.size(); }

 private:
  double position(std::uint64_t step, double epoch, double seconds) const;
  double position(const StepTable& table, std::size_t row) const;
  double place(const training::Marker& marker) const;
  void append_row(std::size_t row);
  void append_test(const training::TestPoint& point);
  void take(const training::LossPoint& point);
  void go_back_to(std::uint64_t step);
  void restart();
  void rebuild();
  bool averages() const;

  CurveChoice choice_;
  StepTable steps_, steps_before_;
  MetricsSeen seen_{};
  std::vector<training::TestPoint> tests_;
  std::vector<training::Marker> raw_markers_;
  plot::Smoother smoother_{plot::weight_for(20)};
  plot::Series train_, smoothed_, test_, validation_, before_, skipped_;
  std::vector<plot::Marker> markers_;
  training::TestPoint last_test_;
};

}  // namespace warpscope::ui
