#pragma once
// The ranks of a training that this process leads: how many, on which devices, and their processes.

#include <optional>
#include <string>

#include "gpu/training/trainer.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
}  // namespace CLI

namespace warpscope::app {

struct RankArguments {
  int ranks = 0;         ///< on one device; 0: not said
  std::string gpus;      ///< "all", how many, or which ("0,2,3"); "" for the one of --device
  int rank = -1;         ///< of those that people start by hand; -1: not said
  std::string meet;      ///< where these meet: HOST:PORT or a folder; "" for no such ranks
  std::string token;     ///< "": that of WARPSCOPE_TOKEN
  int meet_within = 60;  ///< seconds
};

void add_rank_options(CLI::App& app, RankArguments& arguments);

/// The other ranks of a training, where it has more than one.
class OtherRanks {
 public:
  /// Starts what is asked for, or meets those that mpirun, srun or people started, and gives them to `options`, with more
  /// where the training asks for them. Throws core::BadInput for GPUs that there are not and for contradictions.
  OtherRanks(const RankArguments& arguments, training::TrainerOptions& options);

  /// That of this process if another rank led it, now that the training is over; nothing where it leads.
  const std::optional<int>& exit_code() const { return exit_code_; }

 private:
  void meet_by_mpi(const RankArguments& arguments, training::TrainerOptions& options);
  void meet_by_hand(const RankArguments& arguments, training::TrainerOptions& options);

  std::optional<int> exit_code_;
};

/// The exit code of a process that was started as a rank which another one leads, once its training is over; nothing in
/// other processes. Call it first of all.
std::optional<int> run_as_rank();

}  // namespace warpscope::app
