#pragma once
// Seconds of the phases of some work, one after the other, by the host's clock.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::core {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds that a part of the work took, as the host's clock saw it.
struct PhaseTime {
  std::string phase;
  double seconds = 0;
};

class Phases {
 public:
  /// Ends the phase before. A phase that comes again goes on where it was left.
  void begin(std::string_view name);
  /// "" before the first.
  std::string_view current() const;
  /// Ends the last; phases in the order in which they first came.
  std::vector<PhaseTime> end();

 private:
  void stop_clock();

  std::vector<PhaseTime> phases_;
  std::size_t current_ = 0;
  Clock::time_point since_;
};

/// A phase within another, which goes on behind it.
class InnerPhase {
 public:
  InnerPhase(Phases& phases, std::string_view name) : phases_(phases), outer_(phases.current()) {
    phases_.begin(name);
  }
  ~InnerPhase() { phases_.begin(outer_); }
  InnerPhase(const InnerPhase&) = delete;
  InnerPhase& operator=(const InnerPhase&) = delete;

 private:
  Phases& phases_;
  std::string outer_;
};

}  // namespace warpscope::core
