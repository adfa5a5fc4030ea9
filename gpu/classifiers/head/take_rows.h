#pragma once
// Rows of a feature matrix in another order.

#include <cstdint>

#include "gpu/classifiers/features.h"

namespace warpscope::classifiers::head {

/// Enqueues to[n, j] = features[order[n], j] for 0 <= n < count. `order` (each below features.rows) and `to`,
/// (count, columns), lie in memory of the device. On the CPU it is done at once.
void take_rows(const Place& place, const FeatureMatrix& features, const std::uint32_t* order,
               std::int64_t count, float* to);

// ---- on CUDA ----

void take_rows_cuda(const Place& place, const FeatureMatrix& features, const std::uint32_t* order,
                    std::int64_t count, float* to);

}  // namespace warpscope::classifiers::head
