#pragma once
// What is asked of the columns of features before anything is learned from them.

#include "gpu/classifiers/features.h"

namespace warpscope::classifiers {

/// Enqueues, for each column j of x,
///
///     sums[j] = sum over rows of (x_ij - centre_j),  squares[j] = sum over rows of (x_ij - centre_j)^2
///
/// in double precision and in an order that the shape and the device fix. `sums` and `squares` hold `columns` doubles
/// in memory of the device; so does `centre`, or it is nullptr for 0. On the CPU it is done at once.
void sum_columns(const Place& place, const FeatureMatrix& features, const double* centre, double* sums,
                 double* squares);

/// Throws BadInput that names the first row and column that holds NaN or an infinity. `what` begins the sentence:
/// "the training rows". Waits for the stream.
void check_finite(const Place& place, const FeatureMatrix& features, const char* what = "the features");

// ---- on CUDA ----

void sum_columns_cuda(const Place& place, const FeatureMatrix& features, const double* centre, double* sums,
                      double* squares);

/// Enqueues the search: writes the lowest index of a number that is not finite, or all ones, to `first` in memory of
/// the device.
void find_not_finite_cuda(const Place& place, const FeatureMatrix& features, unsigned long long* first);

}  // namespace warpscope::classifiers
