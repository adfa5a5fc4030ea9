#pragma once
// The ranks of a training that this process leads: how many, on which devices, and their processes.

#include <memory>
#include <optional>
#include <string>

#include "gpu/ranks/launch.h"
#include "gpu/training/trainer.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
}  // namespace CLI

namespace warpscope::app {

struct RankArguments {
  int ranks = 0;     ///< on one device; 0: not said
  std::string gpus;  ///< "all", how many, or which ("0,2,3"); "" for the one of --device
};

void add_rank_options(CLI::App& app, RankArguments& arguments);

/// The other ranks of a training, as long as it lasts; nothing where it has only one.
class OtherRanks {
 public:
  /// Starts what is asked for, or meets those that mpirun or srun started, and tells `options` of them. Throws
  /// core::BadInput for GPUs that there are not and for contradictions.
  OtherRanks(const RankArguments& arguments, training::TrainerOptions& options);

  /// That of this process if another rank led it, now that the training is over; nothing where it leads.
  const std::optional<int>& exit_code() const { return exit_code_; }

 private:
  void meet_by_mpi(const RankArguments& arguments, training::TrainerOptions& options);

  std::optional<int> exit_code_;
  std::unique_ptr<ranks::StartedRanks> started_;
};

/// The exit code of a process that was started as a rank which another one leads, once its training is over; nothing in
/// other processes. Call it first of all.
std::optional<int> run_as_rank();

}  // namespace warpscope::app
