#pragma once
// Kernels of users from one training to the next one in the same window.

#include "gpu/messages/user_kernels.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

/// What the next training has of the one before, whose surroundings `around` was and which tells of its kernels by
/// `before`: what was loaded there is loaded again, and what was forgotten there, files of --kernel among it, stays
/// forgotten. Nothing changes where that one took no kernels.
void carry_on(Surroundings& around, const UserKernels* before);

}  // namespace warpscope::training
