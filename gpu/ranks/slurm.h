#pragma once
// Ranks that Slurm's srun has started without MPI, as it does where `--mpi=none` is its default.

#include <optional>
#include <string>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// Which of several processes of a step this is, by the environment that srun sets; nothing in other processes, in
/// batch scripts among them. Where srun speaks PMI it says the same, so ask started_by_mpi() first.
std::optional<Place> place_in_slurm_step();

/// "step 0 of the Slurm job 7": which one started this process; "" where none of several did.
std::string slurm_step();

}  // namespace warpscope::ranks
