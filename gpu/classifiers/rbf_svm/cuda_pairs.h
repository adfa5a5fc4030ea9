#pragma once
// Pairs of classes whose distances lie in one matrix, solved on a GPU.

#include <functional>
#include <vector>

#include "gpu/classifiers/rbf_svm/backend.h"
#include "gpu/classifiers/rbf_svm/batches.h"
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

}  // namespace warpscope::classifiers::rbf
