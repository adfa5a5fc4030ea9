#pragma once
// The end of a training in this process, whose device can do nothing more: what another process goes on with.

#include "gpu/core/device_lost.h"

namespace warpscope::training {

struct TrainingContext;

/// Writes what the training goes on from, and tells it: Ending::hand_over. No call of the device is made. False where
/// nobody would go on, there is nothing to go on from, or it cannot be written; the last is told.
bool hand_over(TrainingContext& training, const core::DeviceLost& lost);

}  // namespace warpscope::training
