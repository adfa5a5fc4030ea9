#pragma once
// How often something that costs device time is done, so that it takes no more than a share of the time.

#include <algorithm>
#include <chrono>
#include <optional>

namespace warpscope::training {

/// After each turn it waits, as long as what a turn costs asks for. The cost is asked for whenever one would like to
/// know whether the next is due: who finds that a turn costs less than was thought need not sit out the longer wait.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// `cost`: seconds of a turn, 0 if unknown; `share`: the part of the time that turns may take; `least`: seconds
  /// between two of them at the least.
  bool due(Clock::time_point now, double cost, double share, double least) const {
    return !last_ || now - *last_ >= std::chrono::duration<double>(std::max(least, cost / share));
  }
  void took_turn(Clock::time_point now) { last_ = now; }
  /// The next turn is due at once: it costs something else than those before, or shows something else.
  void forget() { last_.reset(); }

 private:
  std::optional<Clock::time_point> last_;
};

}  // namespace warpscope::training
