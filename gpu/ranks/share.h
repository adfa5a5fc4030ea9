#pragma once
// The part of each step that a rank has. Every kernel file reads this: what sums are is in sums.h.

#include <memory>

namespace warpscope::ranks {

class Sums;

struct Share {
  std::shared_ptr<Sums> sums;  ///< nullptr: there is one rank, which has all
  float weight = 1;            ///< images of this rank over all
};

}  // namespace warpscope::ranks
