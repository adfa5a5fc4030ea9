#pragma once
// The CUDA half of neighbours.h.

#include "gpu/maps/neighbours.h"

namespace warpscope::maps {

/// Distances of the rows [first, first + rows) to all rows of `features`, and the nearest of them.
struct NearestCall {
  FeatureMatrix features;
  std::int64_t first = 0;
  int rows = 0;
  int count = 0;
  float* distances = nullptr;  ///< (rows, features.rows): scratch
  int* indices = nullptr;      ///< (rows, count)
  float* nearest = nullptr;    ///< (rows, count)
};

void find_nearest_cuda(core::Stream& stream, const NearestCall& call);

}  // namespace warpscope::maps
