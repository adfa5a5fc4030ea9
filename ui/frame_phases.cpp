#include "ui/frame_phases.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ui/trace.h"

namespace warpscope::ui {
namespace {

constexpr double kSlowSeconds = 1.5 / 60;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Linux: nanoseconds run, nanoseconds waited to be run, and more. Negative where it is not told.
double waited_seconds() {
  std::ifstream file("/proc/thread-self/schedstat");
  double run = 0, waited = 0;
  return file >> run >> waited ? 1e-9 * waited : -1;
}

}  // namespace

FramePhases::Clocks FramePhases::thread_clocks() {
  return {wall_seconds, cpu_seconds, waited_seconds};
}

std::string FramePhases::list(const std::vector<Phase>& phases, int frames) {
  std::vector<std::string> told;
  for (const Phase& phase : phases) {
    told.push_back(fmt::format("{{\"name\":{},\"ms\":{:.2f},\"cpu_ms\":{:.2f}}}", json_string(phase.name),
                               1e3 * phase.seconds / frames, 1e3 * phase.cpu_seconds / frames));
  }
  return fmt::format("[{}]", fmt::join(told, ","));
}

void FramePhases::begin() {
  if (!trace_enabled()) return;
  phases_.clear();
  last_ = clocks_.wall();
  last_cpu_ = clocks_.cpu();
  waited_ = clocks_.waited();
}

void FramePhases::mark(const char* phase) {
  if (!trace_enabled()) return;
  const double now = clocks_.wall(), cpu = clocks_.cpu();
  phases_.push_back({phase, now - last_, cpu - last_cpu_});
  last_ = now;
  last_cpu_ = cpu;
}

void FramePhases::end() {
  if (!trace_enabled()) return;
  double seconds = 0;
  for (const Phase& phase : phases_) {
    seconds += phase.seconds;
    const auto same = [&](const Phase& sum) { return std::string_view(sum.name) == phase.name; };
    const auto sum = std::find_if(sums_.begin(), sums_.end(), same);
    if (sum == sums_.end()) {
      sums_.push_back(phase);
    } else {
      sum->seconds += phase.seconds;
      sum->cpu_seconds += phase.cpu_seconds;
    }
  }
  if (!phases_.empty()) ++frames_;
  if (seconds >= kSlowSeconds) write(seconds);
}

void FramePhases::write(double seconds) const {
  const double waited = waited_ < 0 ? -1e-3 : clocks_.waited() - waited_;
  trace_event("slow_frame", fmt::format("\"ms\":{:.2f},\"waiting_ms\":{:.2f},\"phases\":{}", 1e3 * seconds,
                                        1e3 * waited, list(phases_, 1)));
}

std::string FramePhases::means() {
  std::string means = list(sums_, frames_);
  sums_.clear();
  frames_ = 0;
  return means;
}

}  // namespace warpscope::ui
