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

}  // namespace warpscope::training
