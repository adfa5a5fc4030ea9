#pragma once
// Every loss, test and marker of the training, as curves over steps or over time. No drawing here.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/training/feed.h"
#include "ui/plot/curve.h"
#include "ui/plot/flags.h"
#include "ui/plot/smoothing.h"

namespace warpscope::ui {

class LossHistory {
 public:
  void consume(const training::FeedItem& item);
  /// x is seconds of training instead of steps.
  void set_over_time(bool over_time);
  /// Average over about this many steps; 1: none.
  void set_smoothing(double steps);

  const plot::Series& train() const { return train_; }
  const plot::Series& smoothed() const { return smoothed_; }
  const plot::Series& test() const { return test_; }
  /// The smoothed training curve before the last restart; empty if there was none.
  const plot::Series& before() const { return before_; }
  const std::vector<plot::Marker>& markers() const { return markers_; }
  /// "step 1,234 · epoch 3.21 · 0:12 · rate 0.1" of the step nearest to x.
  std::string describe(double x) const;
  /// The newest test; its step is 0 if there was none.
  const training::TestPoint& last_test() const { return last_test_; }
  std::size_t steps() const { return steps_.size(); }

 private:
  struct Step {
    std::uint64_t step;
    double seconds;
    float epoch;
    float loss;
    float learning_rate;
  };

  double position(std::uint64_t step, double seconds) const;
  void append(const Step& step);
  void append(const training::TestPoint& point);
  void append(const training::Marker& marker);
  void restart();
  void rebuild();
  void smooth_again();

  bool over_time_ = false;
  double smoothing_ = 20;
  std::vector<Step> steps_;
  std::vector<training::TestPoint> tests_;
  std::vector<training::Marker> raw_markers_;
  std::vector<Step> steps_before_;
  plot::Smoother smoother_{plot::weight_for(20)};
  plot::Series train_, smoothed_, test_, before_;
  std::vector<plot::Marker> markers_;
  training::TestPoint last_test_;
};

}  // namespace warpscope::ui
