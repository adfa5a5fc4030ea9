#pragma once
// Pairs of classes whose distances lie in one matrix, solved on a GPU.

#include <array>
#include <functional>
#include <vector>

#include "gpu/classifiers/rbf_svm/backend.h"
#include "gpu/classifiers/rbf_svm/batches.h"
#include "gpu/classifiers/rbf_svm/cuda_rows.h"
#include "gpu/classifiers/rbf_svm/rbf_kernels.h"

namespace warpscope::classifiers::rbf {

/// A matrix of distances with the classes whose rows it holds, in that order.
struct ClassMatrix {
  const float* distances = nullptr;
  const ClassPlaces* places = nullptr;
  const Batch* batch = nullptr;
};

/// Bytes of device memory that solving takes besides the matrix.
std::size_t solving_bytes(const ClassPlaces& places, const Batch& batch, bool probabilities);

/// Solves batch.pairs, in their order; with probabilities also each without each of the folds, all in one launch.
/// Classes in reports are places in ClassRows::present. `told` gets the part that is done, from 0 to 1, and may throw.
std::vector<PairSolution> solve_batch(const Place& place, const ClassMatrix& matrix, const Task& task,
                                      KernelFactors factors, bool shifted,
                                      const std::function<void(double)>& told);

// Pairs of classes whose distances do not fit the memory, solved on a GPU by working sets.

/// Bytes that the smallest working set takes.
std::size_t least_large_pair_bytes(const ClassPlaces& places, const std::array<int, 2>& pair);

/// Bytes that solve_large_pair() takes of `room`.
std::size_t large_pair_bytes(const ClassPlaces& places, const std::array<int, 2>& pair, std::size_t room);

/// Solves one pair with working sets as large as `room` bytes allow, at most 2048 rows. Each time the rows' distances
/// to all rows of the pair are computed, the small problem is solved as solve_batch() solves its own, to a tenth of
/// the gap that is left, and v of all rows follows in double.
/// Classes in the report are places in ClassRows::present. `told` gets the part that is done, from 0 to 1, and may
/// throw.
PairSolution solve_large_pair(const Place& place, const SplitRows& rows, int columns,
                              const ClassPlaces& places, const std::array<int, 2>& pair, const Task& task,
                              KernelFactors factors, bool shifted, std::size_t room,
                              const std::function<void(double)>& told);

}  // namespace warpscope::classifiers::rbf
