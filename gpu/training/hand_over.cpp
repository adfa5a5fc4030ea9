#include "gpu/training/hand_over.h"

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/runs/checkpoint_store.h"

namespace warpscope::training {

TrainerOptions options_of(const std::shared_ptr<const HandOver>& hand_over) {
  TrainerOptions options;
  static_cast<TrainingSettings&>(options) = *hand_over->settings;
  static_cast<PlainSurroundings&>(options) = hand_over->around;
  options.resume_dir = hand_over->folder;
  options.start_paused = hand_over->paused;
  options.live_kernels.includes.assign(hand_over->includes.begin(), hand_over->includes.end());
  options.live_kernels.files = hand_over->files;
  options.live_kernels.folders = hand_over->folders;
  options.live_kernels.forgotten = hand_over->forgotten;
  options.handed_over = hand_over;
  return options;
}

std::string what_is_kept(const std::string& folder, bool recorded) {
  const std::vector<CheckpointFile> checkpoints =
      folder.empty() ? std::vector<CheckpointFile>() : list_checkpoints(folder);
  if (checkpoints.empty()) return "no checkpoint of it is kept";
  const std::string step = files::grouped(checkpoints.front().step);
  if (recorded) return fmt::format("its last checkpoint is that of step {}, in {}", step, folder);
  return fmt::format("its state of step {} is kept in {}, and the next window offers to go on with it", step,
                     folder);
}

}  // namespace warpscope::training
