#pragma once
// In a view of a run: a pinned step chooses the checkpoint that all views of the inside are computed from. No drawing
// here.

#include <cstdint>
#include <optional>
#include <string>

#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// Why that checkpoint cannot be looked at, as a sentence; "" if it can.
std::string why_no_checkpoint_look(const training::Revival& revival, std::uint64_t step);

class PinnedCheckpoint {
 public:
  /// Once a frame, with the step that is pinned. What is to be sent, once for each checkpoint that is nearer than
  /// the one before: that one, and the newest once no step is pinned.
  std::optional<training::LookAt> follow(const training::Snapshot& snapshot,
                                         std::optional<std::uint64_t> pinned);

 private:
  std::optional<std::uint64_t> pinned_, asked_;
};

/// "checkpoint at step 1,024 (nearest to 1,100)" where that is what the pinned step chose.
std::string checkpoint_line(const training::Revival& revival, std::optional<std::uint64_t> pinned);

}  // namespace warpscope::ui
