#pragma once
// The learning-rate range test: training steps whose rate rises from step to step, to see where the loss
// falls fastest and where it blows up. With N steps the i-th has the rate low (high / low)^(i / (N - 1)); its
// loss l_i is smoothed with bias correction:
//
//   m_i = b m_(i-1) + (1 - b) l_i,   s_i = m_i / (1 - b^(i+1)),   b = smoothing
//
// The test ends after N steps, at a loss that is not finite, or once the loss blows up: s_i and at least half of the
// last 1 / (1 - b) losses are above blow_up times the lowest s since smoothing has settled, and s_i is ten of its
// standard deviations above that. These are taken from the falls from one loss to the next, which a rise does not
// touch: where the loss is small, a few images that are hard make ten times of it and more, and the next ones are easy
// again. It is judged once there are twice as many steps as smoothing takes to settle.
//
// The lowest s is at `best`. To find the steepest descent, s_0 ... s_best is smoothed once more from the
// end to the start in the same way, which takes back the delay of the first smoothing; the suggestion is the
// rate at which this falls most from the point before to the point after. The cautious suggestion is a tenth
// of the rate at `best`.
//
// The test changes the weights and the optimizer's state: whoever runs it puts back what was there before.
//
// Sources: L. Smith, "Cyclical learning rates for training neural networks" (2017), and "A disciplined
// approach to neural network hyper-parameters" (2018).

#include <optional>
#include <string>
#include <vector>

namespace warpscope::training {

struct RateFinderOptions {
  double low = 1e-7;       ///< rate of the first step
  double high = 10;        ///< rate of the last step
  int steps = 100;         ///< N
  double smoothing = 0.9;  ///< b
  double blow_up = 4;

  bool operator==(const RateFinderOptions&) const = default;
};

/// Throws BadInput that names the value out of range and what is valid: low above 0, high above low, steps
/// from 20 to 100000, smoothing from 0 to 0.98, blow_up above 1.
void check(const RateFinderOptions& options);

struct RatePoint {
  double rate = 0;
  double loss = 0;
  double smoothed = 0;  ///< s
};

struct RateFinderResult {
  std::vector<RatePoint> points;    ///< of the steps with a finite loss, in order
  std::optional<double> suggested;  ///< the rate of the steepest descent
  std::optional<double> cautious;   ///< a tenth of the rate with the lowest loss
  std::string text;                 ///< one sentence: the suggestion, or why there is none and what to do
};

class RateFinder {
 public:
  /// Throws as check does.
  explicit RateFinder(const RateFinderOptions& options);

  /// The rate of the next step; once done(), that of the last one.
  double next_rate() const;
  /// The loss of the step that ran with next_rate(). Ignored once done().
  void note(double loss);
  bool done() const { return done_; }
  /// Steps noted, out of options().steps.
  int steps_done() const { return steps_done_; }
  const RateFinderOptions& options() const { return options_; }
  /// What the steps so far tell; the suggestions only once done(). Without a suggestion where the loss was not
  /// finite or rose from the start, hardly changed, or fell by no more than its noise.
  RateFinderResult result() const;

 private:
  RateFinderOptions options_;
  std::vector<RatePoint> points_;
  bool blew_up() const;

  double average_ = 0;  ///< m
  double best_ = 0;     ///< lowest s since smoothing has settled
  double falls_ = 0;    ///< squares of the differences to the loss before, where that was larger
  int steps_done_ = 0;
  bool done_ = false;
};

}  // namespace warpscope::training
