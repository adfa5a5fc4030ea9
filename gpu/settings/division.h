#pragma once
// Which part of each step a rank makes. All ranks make every step together: the images of a step, in the order of the
// epoch, are divided among them, and each makes its part in one or several passes.

#include "gpu/ranks/group.h"
#include "gpu/settings/optimizer_settings.h"

namespace warpscope::training {

/// Parts of a step whose sums do not depend on the number of ranks (ops/optimizer/shards.h).
inline constexpr int kShards = 8;

struct Division {
  int batch = 1;           ///< images of a pass
  int passes = 1;          ///< of a step
  int first_pass = 0;      ///< those of the ranks before this one
  int shards = 0;          ///< of the sums over passes; 0: they are added in the order in which they come
  int images_before = 0;   ///< of a step, that the ranks before this one take
  int images = 1;          ///< of a step, that this rank takes
  int images_of_step = 1;  ///< that all take
  float weight() const { return static_cast<float>(images) / static_cast<float>(images_of_step); }
};

/// `batch`: images of a (micro-)batch of all ranks together, at least 1. Ranks get as many images each, or one more.
/// With `fixed` sums the same bits come out for 1, 2, 4 and 8 ranks: a batch is kShards parts. Throws core::BadInput
/// where it cannot be divided so.
Division divide(const OptimizerSettings& optimizer, int batch, bool fixed, const ranks::Place& place);

}  // namespace warpscope::training
