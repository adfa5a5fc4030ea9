#pragma once
// Frame times: how often the window is drawn and how long its thread works on a frame.

#include <cstddef>
#include <vector>

namespace warpscope::ui {

/// The `part` quantile (0.5: the median) of `values`, the nearest one from above; 0 if there is none.
double quantile(std::vector<double> values, double part);

/// Keeps the last 240 frames.
class FrameClock {
 public:
  /// Notes a frame that began at `start` and took `work` seconds of the thread up to the swap, and `swapped`
  /// with it: there the thread waits for the monitor, or for who draws. Gaps while the window rests are told by
  /// restart() and not counted; nor are the first frames, which make textures and shaders.
  void add(double start, double work, double swapped);
  void restart() { last_start_ = -1; }
  /// Medians and 99 % quantiles as of a moment ago: they are renewed twice a second, so that they can be
  /// read.
  double frames_per_second() const { return shown_interval_ > 0 ? 1 / shown_interval_ : 0; }
  double p99_milliseconds() const { return 1e3 * shown_p99_; }
  double work_milliseconds() const { return 1e3 * shown_work_; }
  double p99_work_milliseconds() const { return 1e3 * shown_p99_work_; }
  double p99_swapped_milliseconds() const { return 1e3 * shown_p99_swapped_; }

 private:
  std::vector<double> intervals_, works_, swapped_;
  std::size_t next_interval_ = 0, next_work_ = 0, next_swapped_ = 0;
  int to_skip_ = 10;
  double last_start_ = -1;
  double renewed_ = -1;
  double shown_interval_ = 0, shown_p99_ = 0, shown_work_ = 0, shown_p99_work_ = 0, shown_p99_swapped_ = 0;
};

}  // namespace warpscope::ui
