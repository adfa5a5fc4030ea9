#pragma once
// How far a training goes: its length in steps and epochs, and where evaluations lie on the way.

#include <cstdint>
#include <string>

#include "gpu/messages/snapshot.h"

namespace warpscope::training {

struct TrainingContext;

/// Puts Snapshot::steps_planned and total_epochs to what the settings say.
void plan_steps(TrainingContext& training);
/// The length of the training with these settings; 0: no limit.
double planned_epochs(const TrainingContext& training, const TrainingSettings& settings);
double rate_of_next_step(const TrainingContext& training);
/// The step after which the next evaluation begins.
std::uint64_t next_evaluation(const TrainingContext& training);
/// The held-out images by which the training is steered.
Split steering_split(const TrainingContext& training);
bool limit_reached(const TrainingContext& training);
/// For a run that is gone on with.
std::string told_as_ended(const TrainingContext& training);

}  // namespace warpscope::training
