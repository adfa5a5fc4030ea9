#include "gpu/training/hand_over.h"

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

}  // namespace warpscope::training
