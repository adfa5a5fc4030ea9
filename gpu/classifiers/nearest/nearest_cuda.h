#pragma once
// The CUDA half of nearest.h.

#include "gpu/classifiers/nearest/nearest.h"

namespace warpscope::classifiers::nearest {

void find_neighbours_cuda(const Place& place, const FeatureMatrix& training, const FeatureMatrix& rows,
                          const Watch& watch, Neighbours& found);

}  // namespace warpscope::classifiers::nearest
