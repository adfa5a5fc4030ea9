#pragma once
// What a training leaves whose device can do nothing more in its process, so that another process goes on with it.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"
#include "gpu/settings/training_settings.h"
#include "gpu/training/moments.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

/// Where it stands: what is counted goes on, so that who looks on sees one training.
struct Counted {
  double started = 0;
  std::uint64_t generation = 0;
  std::uint64_t training = 0, trainings = 0;
  std::uint64_t notice_id = 0;
  std::uint64_t network_number = 0;
  std::uint64_t divergence_id = 0;
  Answers answers;
};

struct HandOver {
  std::uint64_t failed_at = 0;  ///< steps that had been given to the device
  std::uint64_t step = 0;       ///< of the checkpoint to go on from
  /// A run folder that has this checkpoint and the curve before it.
  std::string folder;
  bool recorded = true;  ///< false: it is there for that only, and goes once the training has ended in order
  bool recorded_own = false;  ///< RunKeeper::records_by_itself()
  bool paused = false;
  std::string told;  ///< the sentence of the marker
  std::shared_ptr<const TrainingSettings> settings = standard_settings();
  PlainSurroundings around;
  std::vector<std::string> includes;  ///< folders of headers of kernels
  std::vector<user_kernels::NamedPlace> files, folders;
  std::vector<std::string> forgotten;  ///< of these folders
  Counted counted;
  std::shared_ptr<const HandedMoments> moments;  ///< nullptr: there are none
  std::vector<NumberedCommand> waiting;          ///< that were not carried out
};

/// What a person finds of a training that has ended without its end, in words: "its last checkpoint is that of step 60,
/// in runs/1". `folder`: a run folder; "" for none. Where it is not `recorded` the next window offers it.
std::string what_is_kept(const std::string& folder, bool recorded);

/// What the training goes on with in a process that was handed it over.
TrainerOptions options_of(const std::shared_ptr<const HandOver>& hand_over);

}  // namespace warpscope::training
