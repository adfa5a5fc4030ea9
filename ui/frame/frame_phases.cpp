#include "ui/frame/frame_phases.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ui/frame/trace.h"

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

// Belong to the frame that is being made: only the window's thread has frames.
std::vector<FrameSpan>& parts_of_frame() {
  static std::vector<FrameSpan> parts;
  return parts;
}

void add(std::vector<FrameSpan>& spans, const FrameSpan& one) {
  const auto same = [&](const FrameSpan& sum) { return std::string_view(sum.name) == one.name; };
  const auto sum = std::find_if(spans.begin(), spans.end(), same);
  if (sum == spans.end()) {
    spans.push_back(one);
  } else {
    sum->seconds += one.seconds;
    sum->cpu_seconds += one.cpu_seconds;
  }
}

}  // namespace

FramePart::FramePart(const char* name) : begin_{name, 0, 0} {
  if (trace_enabled()) begin_ = {name, wall_seconds(), cpu_seconds()};
}

FramePart::~FramePart() {
  if (!trace_enabled()) return;
  add(parts_of_frame(), {begin_.name, wall_seconds() - begin_.seconds, cpu_seconds() - begin_.cpu_seconds});
}

FramePhases::Clocks FramePhases::thread_clocks() {
  return {wall_seconds, cpu_seconds, waited_seconds};
}

std::string FramePhases::list(const std::vector<FrameSpan>& phases, int frames) {
  std::vector<std::string> told;
  for (const FrameSpan& phase : phases) {
    told.push_back(fmt::format("{{\"name\":{},\"ms\":{:.2f},\"cpu_ms\":{:.2f}}}", json_string(phase.name),
                               1e3 * phase.seconds / frames, 1e3 * phase.cpu_seconds / frames));
  }
  return fmt::format("[{}]", fmt::join(told, ","));
}

void FramePhases::begin() {
  if (!trace_enabled()) return;
  phases_.clear();
  parts_of_frame().clear();
  work_ = 0;
  last_ = clocks_.wall();
  last_cpu_ = clocks_.cpu();
  waited_ = clocks_.waited();
}

void FramePhases::mark(const char* phase, bool work) {
  if (!trace_enabled()) return;
  const double now = clocks_.wall(), cpu = clocks_.cpu();
  phases_.push_back({phase, now - last_, cpu - last_cpu_});
  if (work) work_ += now - last_;
  last_ = now;
  last_cpu_ = cpu;
}

void FramePhases::end() {
  if (!trace_enabled()) return;
  double seconds = 0;
  for (const FrameSpan& phase : phases_) {
    seconds += phase.seconds;
    add(sums_, phase);
  }
  if (!phases_.empty()) ++frames_;
  if (!phases_.empty() && work_ > slowest_.seconds) slowest_ = {work_, phases_, parts_of_frame()};
  if (seconds >= kSlowSeconds) write(seconds);
  keep_parts();
}

void FramePhases::keep_parts() {
  for (const FrameSpan& part : parts_of_frame()) {
    const auto same = [&](const PartTimes& times) { return std::string_view(times.name) == part.name; };
    auto times = std::find_if(parts_.begin(), parts_.end(), same);
    if (times == parts_.end()) times = parts_.insert(parts_.end(), {part.name, {}, {}});
    times->ms.push_back(1e3 * part.seconds);
    times->cpu_ms.push_back(1e3 * part.cpu_seconds);
  }
  parts_of_frame().clear();
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

std::string FramePhases::slowest() {
  const Slowest one = std::exchange(slowest_, {});
  if (one.seconds < 0) return "null";
  return fmt::format("{{\"ms\":{:.2f},\"phases\":{},\"parts\":{}}}", 1e3 * one.seconds, list(one.phases, 1),
                     list(one.parts, 1));
}

std::string FramePhases::parts() {
  std::vector<std::string> told;
  for (const PartTimes& part : std::exchange(parts_, {})) {
    told.push_back(fmt::format("{{\"name\":{},\"ms\":[{:.2f}],\"cpu_ms\":[{:.2f}]}}", json_string(part.name),
                               fmt::join(part.ms, ","), fmt::join(part.cpu_ms, ",")));
  }
  return fmt::format("[{}]", fmt::join(told, ","));
}

}  // namespace warpscope::ui
