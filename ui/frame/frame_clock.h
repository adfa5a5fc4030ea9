#pragma once
// How often the window is drawn and how long its thread works on a frame.

#include <cstddef>
#include <deque>
#include <vector>

namespace warpscope::ui {

/// Figures of the frames of the last second, and of the last 240.
class FrameClock {
 public:
  /// Notes a frame that began at `start` and took `work` seconds of the thread up to the swap, and `swapped`
  /// with it: there the thread waits for the monitor, or for who draws. The work on the first frames, which
  /// make textures and shaders, is not counted.
  void add(double start, double work, double swapped);
  /// Frames that began in the second up to `now`.
  int frames_in_last_second(double now) const;
  /// Median and 99 % quantiles as of a moment ago: they are renewed twice a second, so that they can be read.
  double work_milliseconds() const { return 1e3 * shown_work_; }
  double p99_work_milliseconds() const { return 1e3 * shown_p99_work_; }
  double p99_swapped_milliseconds() const { return 1e3 * shown_p99_swapped_; }

 private:
  std::deque<double> starts_;  // of the last second
  std::vector<double> works_, swapped_;
  std::size_t next_work_ = 0, next_swapped_ = 0;
  int to_skip_ = 10;
  double renewed_ = -1;
  double shown_work_ = 0, shown_p99_work_ = 0, shown_p99_swapped_ = 0;
};

}  // namespace warpscope::ui
