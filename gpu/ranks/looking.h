#pragma once
// Lets the other ranks know that this one lives while its own thread is busy or waits.

#include <thread>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// Meeting::look() several times a second while this lives, which the meeting outlives.
class Looking {
 public:
  explicit Looking(const Meeting& meeting);

 private:
  std::jthread thread_;
};

}  // namespace warpscope::ranks
