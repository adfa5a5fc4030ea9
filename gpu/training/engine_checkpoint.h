#pragma once
// What an engine goes on from, as it stands in a checkpoint.

#include "gpu/engine/engine_state.h"
#include "gpu/messages/snapshot.h"
#include "gpu/runs/checkpoint.h"
#include "gpu/settings/training_settings.h"
#include "gpu/training/steering.h"

namespace warpscope::training {

/// What the worker knows of a training between two steps, without a head; which images there are is left out.
Checkpoint checkpoint_without_state(const TrainingSettings& settings, const Steering& steering,
                                    const Progress& progress);

/// Takes from `state` the weights, the optimizer's state, what the device keeps and the place in the epoch.
void take_state(Checkpoint& checkpoint, EngineState state);

EngineState engine_state(Checkpoint checkpoint);

}  // namespace warpscope::training
