#pragma once
// The CUDA half of columns.h.

#include "gpu/classifiers/columns.h"

namespace warpscope::classifiers {

void sum_columns_cuda(const Place& place, const FeatureMatrix& features, const double* centre, double* sums,
                      double* squares);

/// Enqueues the search: writes the lowest index of a number that is not finite, or all ones, to `first` in memory of
/// the device.
void find_not_finite_cuda(const Place& place, const FeatureMatrix& features, unsigned long long* first);

}  // namespace warpscope::classifiers
