#pragma once
// What the augmentation makes of the images of the coming training step.

#include <cstdint>

#include "gpu/data/dataset.h"

namespace warpscope::training {

struct AugmentedImages {
  std::uint64_t step = 0;        ///< steps done before it
  std::uint64_t generation = 0;  ///< Snapshot::generation
  float own_share = 1;           ///< of each image where it is mixed with the next of the batch; 1: not mixed
  data::ImageSet images;         ///< the first of the batch, rounded to bytes
};

}  // namespace warpscope::training
