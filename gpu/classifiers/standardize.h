#pragma once
// Columns brought to mean 0 and deviation 1, as the training rows have them.

#include <string>
#include <vector>

#include "gpu/classifiers/features.h"

namespace warpscope::classifiers {

/// For each column j of n training rows: mean m_j, and deviation s_j = sqrt(1/n sum (x_ij - m_j)^2), that of the
/// population, as scikit-learn's StandardScaler has it. A column that is the same in all rows has s_j = 0.
struct Standardization {
  std::vector<double> means;
  std::vector<double> deviations;
  int constant_columns = 0;  ///< those with deviation 0
  /// A sentence if there are constant columns, else "".
  std::string remark() const;
};

/// Finds them from rows in memory of the device, in double precision. Throws BadInput if there are no rows or, naming
/// row and column, if a number is not finite.
Standardization find_standardization(const Place& place, const FeatureMatrix& training);

/// to_ij = (x_ij - m_j) / s_j, and 0 where s_j is 0. `to` holds rows x columns numbers in memory of the device and may
/// be where the features are. Throws BadInput if the columns are not as many. Waits for the stream.
void standardize(const Place& place, const Standardization& by, const FeatureMatrix& features, float* to);

// ---- on CUDA ----

/// Enqueues to_ij = (x_ij - means_j) * factors_j, both in memory of the device.
void standardize_cuda(const Place& place, const double* means, const double* factors,
                      const FeatureMatrix& features, float* to);

}  // namespace warpscope::classifiers
