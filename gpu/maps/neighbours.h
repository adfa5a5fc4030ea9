#pragma once
// The nearest rows of each row, by exact distances.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/maps/map.h"

namespace warpscope::maps {

/// The `count` nearest other rows of each row, the nearest first, equally far ones by their index. On the host.
struct Neighbours {
  std::int64_t rows = 0;
  int count = 0;
  std::vector<int> indices;              ///< (rows, count)
  std::vector<float> squared_distances;  ///< (rows, count)
};

inline constexpr int kMostNeighbours = 1024;

/// For each row i the `count` rows j != i with the smallest
///
///     sum over columns c of (x_ic - x_jc)^2
///
/// in FP32, as sums of squared differences: nothing cancels, duplicates are at a distance of 0. The relative error is
/// below columns x 2^-24 (on CUDA, where each sum is one chain) and usually near its square root. 1 <= count <=
/// min(rows - 1, kMostNeighbours), else std::invalid_argument. Throws BadInput naming a row whose distances are
/// beyond FP32; Cancelled; OutOfMemory. On CUDA, distances are held for some rows at a time, in at most
/// `memory_limit` bytes and half of what is free, but at least 128 rows at a time.
Neighbours nearest_rows(const Place& place, const FeatureMatrix& features, int count, const Watch& watch = {},
                        std::size_t memory_limit = std::size_t{512} << 20);

// ---- on CUDA ----

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
