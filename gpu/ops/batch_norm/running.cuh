#pragma once
// batch_norm.track inside the call that finds the moments: the kernel that merges these moves the running statistics
// too, which saves a launch. The formula, and with it the bits, are those of the op by itself (track.h).

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/batch_norm/track.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {

/// What a covered batch_norm.track needs; all nullptr without one.
struct Running {
  const step::StepControl* control;
  float* means;
  float* variances;

  /// Moves those of one channel, of whose `positions` values these are mean and r, unless the step is halted.
  __device__ __forceinline__ void track(int channel, float mean, float factor, std::int64_t positions) const {
    if (control == nullptr || control->halted != 0) return;
    track_channel(mean, factor, unbiased<float>(positions), means[channel], variances[channel]);
  }
};

/// Those of a call that may cover batch_norm.track.
inline Running running_of(const OpCall& call) {
  return {call.operand<const step::StepControl>(Name::control), call.operand<float>(Name::running_mean),
          call.operand<float>(Name::running_variance)};
}

}  // namespace warpscope::ops::batch_norm
