#include "gpu/profiling/samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

namespace warpscope::profiling {
namespace {

/// Says when there are enough samples.
class Clock {
 public:
  explicit Clock(const SampleLimits& limits) : limits_(limits) {}
  bool wants_more(const std::vector<double>& times) const {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    const auto have = static_cast<int>(times.size());
    return have < std::min(kLeastSamples, limits_.samples) ||
           (have < limits_.samples && taken.count() < limits_.seconds);
  }
  bool stopped() const { return limits_.go_on && !limits_.go_on(); }

 private:
  const SampleLimits& limits_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Spread spread_of(std::vector<double> microseconds) {
  if (microseconds.empty()) return {};
  std::ranges::sort(microseconds);
  return {static_cast<int>(microseconds.size()), quantile(microseconds, 0.5), quantile(microseconds, 0.1),
          quantile(microseconds, 0.9)};
}

std::vector<double> time_samples(core::Device& device, core::Stream& stream, const SampleLimits& limits,
                                 const std::function<void()>& before, const std::function<void()>& work) {
  const auto first = device.make_event(true);
  const auto last = device.make_event(true);
  work();
  stream.synchronize();
  std::vector<double> times;
  for (Clock clock(limits); clock.wants_more(times);) {
    before();
    stream.record(*first);
    work();
    stream.record(*last);
    stream.synchronize();
    times.push_back(last->microseconds_since(*first));
    if (clock.stopped()) return {};
  }
  return times;
}

std::vector<double> time_back_to_back(core::Device& device, core::Stream& stream, const SampleLimits& limits,
                                      const std::function<void()>& work) {
  if (device.kind() == core::DeviceKind::cpu)
    return time_samples(
        device, stream, limits, [] {}, work);
  const std::size_t ahead = std::clamp(limits.samples, 1, 8);
  std::vector<std::unique_ptr<core::Event>> events;
  for (std::size_t i = 0; i <= ahead; ++i) events.push_back(device.make_event(true));
  std::vector<double> times;
  for (Clock clock(limits); clock.wants_more(times);) {
    work();  // while it runs, the host gets ahead
    stream.record(*events[0]);
    for (std::size_t i = 1; i <= ahead; ++i) {
      work();
      stream.record(*events[i]);
    }
    stream.synchronize();
    for (std::size_t i = 1; i <= ahead; ++i) times.push_back(events[i]->microseconds_since(*events[i - 1]));
    if (clock.stopped()) return {};
  }
  return times;
}

}  // namespace warpscope::profiling
