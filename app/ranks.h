#pragma once
// The ranks of a training or an inference that this process leads: how many, on which devices, and their processes.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// `shared`: what the ranks share ("each step").
void add_rank_options(CLI::App& app, RankArguments& arguments, const std::string& shared = "each step");

/// Ranks that have been started or have met.
struct MetRanks {
  std::shared_ptr<ranks::Meeting> meeting;  ///< nullptr: this process is the only one
  std::shared_ptr<void> processes;          ///< which end with it; of those that this process has started
  std::string device;                       ///< of this one; "": what rank 0 says
  std::vector<std::string> devices;         ///< of all, where --gpus names them
  std::string why_not;                      ///< why their number cannot change; "" where it can
  bool far = false;                         ///< rank 0 may be on another terminal

  bool leads() const { return !meeting || meeting->place().leads(); }
};

/// Starts what is asked for as `warpscope COMMAND`, or meets those that mpirun, srun or people started. `device`: that
/// of --device. Throws core::BadInput for GPUs that there are not and for contradictions.
MetRanks meet_ranks(const RankArguments& arguments, const std::string& device, const std::string& command);

/// What `follow` returns as exit code of a rank that another one leads, told here where that one is far away.
int follow_as(const MetRanks& met,
              const std::function<int(ranks::Meeting&, const std::string& device)>& follow);

/// The other ranks of a training, where it has more than one.
class OtherRanks {
 public:
  /// Starts what is asked for, or meets those that mpirun, srun or people started, and gives them to `options`, with
  /// more where the training asks for them. Throws core::BadInput for GPUs that there are not and for contradictions.
  OtherRanks(const RankArguments& arguments, training::TrainerOptions& options);

  /// That of this process if another rank led it, now that the training is over; nothing where it leads.
  const std::optional<int>& exit_code() const { return exit_code_; }

 private:
  std::optional<int> exit_code_;
};

/// The exit code of a process that was started as a rank which another one leads, with this command, once that is over;
/// nothing in other processes. Call it first of all.
std::optional<int> run_as_rank(std::string_view command);

}  // namespace warpscope::app
