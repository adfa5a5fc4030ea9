#pragma once
// The CUDA half of standardize.h.

#include "gpu/classifiers/standardize.h"

namespace warpscope::classifiers {

/// Enqueues to_ij = (x_ij - means_j) * factors_j, both in memory of the device.
void standardize_cuda(const Place& place, const double* means, const double* factors,
                      const FeatureMatrix& features, float* to);

}  // namespace warpscope::classifiers
