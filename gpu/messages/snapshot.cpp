#include "gpu/messages/snapshot.h"

#include <stdexcept>

namespace warpscope::training {

std::string_view to_string(TrainerState state) {
  switch (state) {
    case TrainerState::preparing:
      return "preparing";
    case TrainerState::paused:
      return "paused";
    case TrainerState::running:
      return "running";
    case TrainerState::finished:
      return "finished";
    case TrainerState::failed:
      return "failed";
    case TrainerState::interrupted:
      return "interrupted";
  }
  throw std::logic_error("unknown state");
}

std::string run_folder_here(const Snapshot& snapshot) {
  return snapshot.can.files ? snapshot.run_dir : std::string();
}

std::string why_no_head(const Snapshot& snapshot) {
  if (snapshot.classifies)
    return "This network classifies: a head on the latents is for those that reconstruct.";
  if (snapshot.data && snapshot.data->classes.size() < 2) {
    return "These images have no classes that a head could learn.";
  }
  return {};
}

}  // namespace warpscope::training
