#include "ui/frame/frame_clock.h"

#include <algorithm>

#include "gpu/core/quantile.h"

namespace warpscope::ui {
namespace {

constexpr std::size_t kFrames = 240;
constexpr double kRenewSeconds = 0.5;

void keep(std::vector<double>& ring, std::size_t& next, double value) {
  if (ring.size() < kFrames) {
    ring.push_back(value);
    return;
  }
  ring[next] = value;
  next = (next + 1) % kFrames;
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

void FrameClock::add(double start, double work, double swapped) {
  starts_.push_back(start);
  while (starts_.front() <= start - 1) starts_.pop_front();
  if (to_skip_ > 0) {
    --to_skip_;
    return;
  }
  keep(works_, next_work_, work);
  keep(swapped_, next_swapped_, swapped);
  if (renewed_ >= 0 && start - renewed_ < kRenewSeconds) return;
  renewed_ = start;
  const std::vector<double> works = sorted(works_);
  shown_work_ = core::quantile(works, 0.5);
  shown_p99_work_ = core::quantile(works, 0.99);
  shown_p99_swapped_ = core::quantile(sorted(swapped_), 0.99);
}

int FrameClock::frames_in_last_second(double now) const {
  return static_cast<int>(std::ranges::count_if(starts_, [&](double start) { return start > now - 1; }));
}

}  // namespace warpscope::ui
