#pragma once
// Where the time of a slow frame went, for the trace (trace.h).

#include <string>
#include <vector>

namespace warpscope::ui {

/// A phase of a frame, or a part of one.
struct FrameSpan {
  const char* name;
  double seconds, cpu_seconds;  ///< of the wall clock, and that the thread has computed
};

/// How long a part of the work on a frame takes, from here to the end of its scope, for FramePhases::slowest() and
/// parts(). Parts of one name add up, and one may lie inside another. Only in the window's thread; without a trace
/// nothing is done.
class FramePart {
 public:
  /// `name` outlives the frame.
  explicit FramePart(const char* name);
  ~FramePart();
  FramePart(const FramePart&) = delete;
  FramePart& operator=(const FramePart&) = delete;

 private:
  FrameSpan begin_;
};

/// Times the phases of the frames of the thread that calls it. A frame that lasted longer than one and a half
/// at 60 frames/s is written into the trace:
/// {"event":"slow_frame","ms":..,"waiting_ms":..,"phases":[{"name":"widgets","ms":..,"cpu_ms":..},..]},
/// milliseconds of the clock and of the thread's own computing, and of being ready but not run by the system
/// (-1: the system does not tell). means(), slowest() and parts() are for the trace too. Without a trace nothing is
/// done.
class FramePhases {
 public:
  /// Seconds: of the wall clock, that the calling thread has computed, and that it was ready but not run
  /// (negative: not told).
  struct Clocks {
    double (*wall)();
    double (*cpu)();
    double (*waited)();
  };
  FramePhases() : FramePhases(thread_clocks()) {}
  /// For tests, which bring their own time.
  explicit FramePhases(const Clocks& clocks) : clocks_(clocks) {}
  /// A frame begins.
  void begin();
  /// The phase that ends here, since the last one or the beginning. One that is no `work` waits for the display.
  void mark(const char* phase, bool work = true);
  /// The frame ends with the last phase.
  void end();
  /// Work that follows a frame is done: its parts are told by parts(), as a frame of their own.
  void keep_parts();
  /// Each phase's share of a frame, over the frames that have ended since the last call:
  /// [{"name":"widgets","ms":..,"cpu_ms":..},..].
  std::string means();
  /// The one with the most work of the frames that have ended since the last call:
  /// {"ms":..,"phases":[..],"parts":[..]}, parts (FramePart) as phases; "null" if there were none.
  std::string slowest();
  /// The milliseconds of each part, a number for each frame that had it, of those that have ended since the last call:
  /// [{"name":"images","ms":[..],"cpu_ms":[..]},..].
  std::string parts();

 private:
  struct PartTimes {
    const char* name;
    std::vector<double> ms, cpu_ms;
  };
  struct Slowest {
    double seconds = -1;  ///< of work; negative: no frame
    std::vector<FrameSpan> phases, parts;
  };
  static Clocks thread_clocks();
  static std::string list(const std::vector<FrameSpan>& phases, int frames);
  void write(double seconds) const;

  Clocks clocks_;
  std::vector<FrameSpan> phases_;
  std::vector<FrameSpan> sums_;   // of the frames since means()
  Slowest slowest_;               // since slowest()
  std::vector<PartTimes> parts_;  // since parts()
  int frames_ = 0;
  double last_ = 0, last_cpu_ = 0, waited_ = 0, work_ = 0;
};

}  // namespace warpscope::ui
