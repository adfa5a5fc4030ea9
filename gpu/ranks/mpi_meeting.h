#pragma once
// Ranks that MPI started: `mpirun -n 16 warpscope train ...`, `srun`. MPI moves all bytes.

#include <chrono>
#include <cstddef>
#include <memory>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

class Mpi;

/// How ranks that MPI started meet.
struct MpiTerms {
  /// How many bytes MPI is given at once, for all ranks together; tests give less.
  std::size_t piece = std::size_t{1} << 30;
  /// Which rank this is, as its launcher says; 0 where it does not.
  int rank = 0;
  /// How long a rank may stand still while all meet; zero: for ever.
  std::chrono::milliseconds patience{60000};
  /// How long MPI's own start may take until rank 0 tells that it waits.
  std::chrono::milliseconds start_within{5000};
  /// Told of ranks that have not answered for about a second meanwhile, on the lowest of those that answer.
  TellSlow tell = nullptr;
};

/// Whether a launcher of MPI has started this process as one of several, by the environment that it set. No library of
/// MPI is opened.
bool started_by_mpi();

/// Meets the ranks that the launcher started. Once in the life of a process. MPI's own start waits until all have come
/// to it, and names nobody: where it takes longer than the patience of `terms`, a sentence says so and this process
/// ends with exit code 1. From there on one that stands still is named, and RankMissing is thrown after the same
/// patience. core::BadInput where no launcher has started this process or it has met the others already, core::Error
/// where MPI fails.
///
/// From then on the exit code of this process counts for all. If it is 0, the process waits at its end until all others
/// end. If it is another, or a call of a group has failed, all ranks end and the launcher has a code that is not 0, so
/// an error must reach main(). A rank that is killed is seen by the launcher, which ends the others (with `srun`, give
/// it -K).
///
/// A group that has been given a TellSlow names the ranks that have not come, or do not answer, after a second; who
/// stands in receive() waits for nobody. RankMissing is thrown where a rank has ended too early with exit code 0, or
/// has let this one wait in an exchange for longer than its patience.
std::shared_ptr<Meeting> meet_by_mpi(MpiTerms terms = {});
/// The library of MPI that belongs to the launcher of this process, not started.
std::unique_ptr<Mpi> mpi_of_launcher();
/// meet_by_mpi() by this one, whatever has started this process.
std::shared_ptr<Meeting> meet_by(std::unique_ptr<Mpi> mpi, MpiTerms terms);

}  // namespace warpscope::ranks
