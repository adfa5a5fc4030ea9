#pragma once
// Pairs of classes whose distances do not fit the memory, solved on a GPU by working sets.

#include <array>
#include <functional>

#include "gpu/classifiers/rbf_svm/backend.h"
#include "gpu/classifiers/rbf_svm/batches.h"
#include "gpu/classifiers/rbf_svm/cuda_rows.h"

namespace warpscope::classifiers::rbf {

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
