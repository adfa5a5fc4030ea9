#include "gpu/messages/step_calls.h"

#include <algorithm>
#include <cmath>

namespace warpscope::training {
namespace {

/// What is read from a file may be no number.
bool known(double microseconds) {
  return microseconds > 0 && std::isfinite(microseconds);
}

void append(std::vector<StepCall>& calls, const OpTiming& timing, double microseconds) {
  if (!known(microseconds)) return;
  calls.push_back({&timing, calls.empty() ? 0 : calls.back().end(), microseconds});
}

}  // namespace

double whole_step_microseconds(const Snapshot& snapshot) {
  const bool known = snapshot.settings->optimizer.accumulate == 1 && snapshot.images_per_second > 0;
  return known ? 1e6 * snapshot.settings->batch / snapshot.images_per_second : 0;
}

std::vector<StepCall> calls_of(const std::vector<OpTiming>& timings) {
  std::vector<StepCall> calls;
  for (const OpTiming& timing : timings) {
    if (!timing.covered_by) append(calls, timing, timing.microseconds);
  }
  return calls;
}

std::vector<StepCall> calls_before(const std::vector<OpTiming>& timings) {
  std::vector<StepCall> calls;
  bool switched = false;
  for (const OpTiming& timing : timings) {
    switched = switched || known(timing.previous_microseconds);
    const bool as_it_is = timing.previous_variant.empty() && !timing.covered_by;
    append(calls, timing, as_it_is ? timing.microseconds : timing.previous_microseconds);
  }
  if (!switched) calls.clear();
  return calls;
}

bool all_timed(const std::vector<OpTiming>& timings) {
  return !timings.empty() && std::all_of(timings.begin(), timings.end(), [](const OpTiming& timing) {
    return timing.covered_by || known(timing.microseconds);
  });
}

}  // namespace warpscope::training
