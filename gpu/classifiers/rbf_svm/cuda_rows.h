#pragma once
// Rows of features on a GPU, looked through, centred and split (split_rows.h).

#include <cstdint>
#include <functional>
#include <span>

#include "gpu/classifiers/features.h"
#include "gpu/classifiers/rbf_svm/rbf_kernels.h"

namespace warpscope::classifiers::rbf {

/// What the rows that were fitted to tell of the columns. Later rows are split by the same means.
struct Columns {
  int count = 0;
  core::Buffer means;  ///< doubles
  int exponent = 0;    ///< of split_rows.h
};

/// Means, the exponent, and sums that gamma follows from.
struct ColumnFacts {
  double variance = 0;     ///< of all numbers
  double mean_square = 0;  ///< mean of |x - mean|^2 of the rows
};

/// Looks through `features`. Throws BadInput that names the first number that is not finite.
ColumnFacts look_through(const Place& place, const FeatureMatrix& features, Columns& columns);

/// Rows as they are multiplied.
struct SplitRows {
  core::Buffer split;
  core::Buffer norms;

  Side side() const { return {split.as<std::uint16_t>(), norms.as<float>(), nullptr, 0, 0}; }
};

/// Bytes of so many split rows.
std::size_t split_bytes(std::int64_t places, int columns);

/// Place p gets row sources[p], or zeros where that is -1.
SplitRows split_training_rows(const Place& place, const FeatureMatrix& features, const Columns& columns,
                              std::span<const int> sources);

/// Other rows of the same columns, by an exponent of their own if they are much larger. Throws BadInput that names the
/// first number that is not finite.
class LaterRows {
 public:
  LaterRows(const Place& place, const FeatureMatrix& features, const Columns& columns);
  /// `count` rows from `first`. Norms are in units of the training rows.
  SplitRows split(const Place& place, std::int64_t first, std::int64_t count) const;
  /// DistanceCall::dot_factor for training rows times these.
  float dot_factor() const;

 private:
  FeatureMatrix features_;
  const Columns& columns_;
  int exponent_ = 0;
};

/// Computes `call` in parts of some 20 ms. `told` gets the part that is done, from 0 to 1, and may throw.
void find_all_distances(const Place& place, const DistanceCall& call,
                        const std::function<void(double)>& told);

}  // namespace warpscope::classifiers::rbf
