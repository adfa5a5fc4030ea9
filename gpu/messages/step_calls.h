#pragma once
// The calls of one training step, one after the other, as its timings tell them.

#include <cstdint>
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

/// How long the calls of a step took.
struct CallTimes {
  std::uint64_t step = 0;
  std::vector<OpTiming> timings;
  double step_microseconds = 0;  ///< of a whole step, by the images a second; 0 if that is not known
};

/// The time of a whole step, by the images a second; 0 if that is not known, or several micro-batches make a step.
double whole_step_microseconds(const Snapshot& snapshot);

/// The calls that have a time, in launch order; those that other calls cover are none.
/// Points into `timings`.
std::vector<StepCall> calls_of(const std::vector<OpTiming>& timings);

/// The same before the last switch of each op: those that were never switched take the time they have now.
/// Empty if no earlier time is known. Points into `timings`.
std::vector<StepCall> calls_before(const std::vector<OpTiming>& timings);

/// True if every call has a time; false if there are none.
bool all_timed(const std::vector<OpTiming>& timings);

}  // namespace warpscope::training
