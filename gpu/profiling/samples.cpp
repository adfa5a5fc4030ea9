#include "gpu/profiling/samples.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "gpu/core/quantile.h"

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

Spread spread_of(std::vector<double> microseconds) {
  if (microseconds.empty()) return {};
  std::ranges::sort(microseconds);
  const auto part = [&](double share) { return core::quantile(microseconds, share); };
  return {static_cast<int>(microseconds.size()), part(0.5), part(0.1), part(0.9), part(0.75) - part(0.25)};
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
