#pragma once
// The end of a training in this process, whose device can do nothing more: what another process goes on with.

#include <optional>
#include <string>

#include "gpu/core/device_lost.h"

namespace warpscope::training {

struct TrainingContext;

/// Somebody would go on, and there is a state in host memory to go on from.
bool can_be_handed_over(const TrainingContext& training);

/// Where that is so: writes what the training goes on from, and tells it then: Ending::hand_over. No call of the device
/// is made. Returns nothing; or, with nothing told, why the training ends, in a sentence that says what is kept.
std::optional<std::string> hand_over(TrainingContext& training, const core::DeviceLost& lost);

/// Instead of that where the training has finished: tells it, and answers commands until nobody looks any more. It can
/// still be left, and its weights be saved.
void stay_finished(TrainingContext& training, const core::DeviceLost& lost);

}  // namespace warpscope::training
