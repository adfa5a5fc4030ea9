#pragma once
// How far the clocks of ranks are apart, as NTP finds it: from when messages were sent and came.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// One exchange between all ranks, in nanoseconds of this rank's clock. A rank leaves after every rank has come.
struct Encounter {
  std::int64_t came = 0;
  std::int64_t left = 0;
};

/// By how much a clock is ahead of another one, in microseconds. The truth lies within `uncertainty` of it, however
/// long each way took, if the clocks ran alike meanwhile.
struct ClockOffset {
  double microseconds = 0;
  double uncertainty = 0;
};

/// How far the clock of `other` is ahead of that of `mine`, from the same exchanges: ((other.left - mine.came) +
/// (other.came - mine.left)) / 2, of the exchange with the smallest round trip, which is (mine.left - mine.came) +
/// (other.left - other.came); the uncertainty is half of that. There is at least one.
ClockOffset offset_between(std::span<const Encounter> mine, std::span<const Encounter> other);

/// Nanoseconds of std::chrono::steady_clock.
std::int64_t steady_nanoseconds();

/// How far each rank's clock is ahead of rank 0's; the same on all, each of which calls it. Ranks that the system says
/// run on one machine share a clock: 0, and the uncertainty is what an exchange could have told.
std::vector<ClockOffset> align_clocks(Group& group,
                                      const std::function<std::int64_t()>& now = steady_nanoseconds);

}  // namespace warpscope::ranks
