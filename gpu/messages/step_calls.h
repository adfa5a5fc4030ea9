#pragma once
// The calls of one training step, one after the other, as its timings tell them.

#include <vector>

#include "gpu/messages/snapshot.h"

namespace warpscope::training {

/// One call on the time axis of the step. Calls are timed by an event after each, so that one begins where the
/// one before it ends: what passes between two launches counts to the later one.
struct StepCall {
  const OpTiming* timing = nullptr;
  double start = 0;         ///< microseconds since the step began
  double microseconds = 0;  ///< above 0

  double end() const { return start + microseconds; }
};

/// The calls that have a time, in launch order; those that other calls cover are none.
/// Points into `timings`.
std::vector<StepCall> calls_of(const std::vector<OpTiming>& timings);

/// The same before the last switch of each op: those that were never switched take the time they have now.
/// Empty if no time of before is known. Points into `timings`.
std::vector<StepCall> calls_before(const std::vector<OpTiming>& timings);

/// True if every call has a time; false if there are none.
bool all_timed(const std::vector<OpTiming>& timings);

}  // namespace warpscope::training
