#pragma once
// Linear support vector machines by the package liblinear, on the CPU.
// Source: R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin, "LIBLINEAR: a library for large linear
// classification" (2008).

#include "gpu/classifiers/linear/newton.h"

namespace warpscope::classifiers::linear {

/// The same problems as solve_newton() with margin losses. liblinear's own tolerance is made smaller until the gap is
/// small enough or it does no better. `stop` is looked at as often as liblinear reports: once a Newton step or ten
/// rounds of coordinate descent. Throws OutOfMemory before it begins if its nodes, 16 bytes for each number that is
/// not 0, would not fit.
NewtonResult solve_liblinear(const Place& place, const FeatureMatrix& features,
                             std::span<const int> problem_of, int problems, const NewtonOptions& options,
                             const Watch& watch);

}  // namespace warpscope::classifiers::linear
