#pragma once
// Squared distances on a GPU.

#include <functional>

#include "gpu/classifiers/rbf_svm/cuda_rows.h"

namespace warpscope::classifiers::rbf {

/// Computes `call` in parts of some 20 ms. `told` gets the part that is done, from 0 to 1, and may throw.
void find_all_distances(const Place& place, const DistanceCall& call,
                        const std::function<void(double)>& told);

}  // namespace warpscope::classifiers::rbf
