#pragma once
// The Newton solver's steps on CUDA.

#include <memory>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/classifiers/linear/newton_state.h"

namespace warpscope::classifiers::linear {

/// Steps are enqueued in the place's stream.
std::unique_ptr<Steps> make_steps_cuda(const Place& place, const NewtonState& state);

/// scores_ik = sum over j of x_ij w_kj + w_kd, for (rows, problems) scores and (problems, columns + 1) weights w,
/// both on the host. Waits for the stream.
void multiply_rows_cuda(const Place& place, const FeatureMatrix& features, const std::vector<double>& weights,
                        int problems, std::vector<double>& scores);

}  // namespace warpscope::classifiers::linear
