#pragma once
// Ranks that MPI started: `mpirun -n 16 warpscope train ...`, `srun`. MPI moves all bytes.

#include <cstddef>
#include <memory>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// Whether a launcher of MPI has started this process as one of several, by the environment that it set. No library of
/// MPI is opened.
bool started_by_mpi();

/// Meets the ranks that the launcher started; waits until all have started MPI. Once in the life of a process.
/// core::BadInput where none has started it or it has met them already, core::Error where MPI fails.
///
/// From then on the exit code of this process counts for all. If it is 0, the process waits at its end until all others
/// end. If it is another, or a call of a group has failed, all ranks end and the launcher has a code that is not 0, so
/// an error must reach main(). A rank that is killed is seen by the launcher, which ends the others (with `srun`, give
/// it -K).
///
/// A group that has been given a TellSlow names the ranks that have not come, or do not answer, after a second; who
/// stands in receive() waits for nobody. RankMissing is thrown where a rank has ended too early with exit code 0, or
/// has let this one wait in an exchange for longer than its patience. `piece` is how many bytes MPI is given at once,
/// for all ranks together; tests give less.
std::shared_ptr<Meeting> meet_by_mpi(std::size_t piece = std::size_t{1} << 30);

}  // namespace warpscope::ranks
