#pragma once
// Where the time of a slow frame went, for the trace (trace.h).

#include <string>
#include <vector>

namespace warpscope::ui {

/// Times the phases of the frames of the thread that calls it. A frame that lasted longer than one and a half
/// at 60 frames/s is written into the trace:
/// {"event":"slow_frame","ms":..,"waiting_ms":..,"phases":[{"name":"widgets","ms":..,"cpu_ms":..},..]},
/// milliseconds of the clock and of the thread's own computing, and of being ready but not run by the system
/// (-1: the system does not tell). means() is for the trace too. Without a trace nothing is done.
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
  /// The phase that ends here, since the last one or the beginning.
  void mark(const char* phase);
  /// The frame ends with the last phase.
  void end();
  /// Of the frames that have ended since the last call, each phase's share of a frame:
  /// [{"name":"widgets","ms":..,"cpu_ms":..},..].
  std::string means();

 private:
  struct Phase {
    const char* name;
    double seconds, cpu_seconds;
  };
  static Clocks thread_clocks();
  static std::string list(const std::vector<Phase>& phases, int frames);
  void write(double seconds) const;

  Clocks clocks_;
  std::vector<Phase> phases_;
  std::vector<Phase> sums_;  // of the frames since means()
  int frames_ = 0;
  double last_ = 0, last_cpu_ = 0, waited_ = 0;
};

}  // namespace warpscope::ui
