#pragma once
// The Newton solver's steps on the CPU: in loops over threads, in double precision.

#include <memory>

#include "gpu/classifiers/linear/newton_state.h"

namespace warpscope::classifiers::linear {

std::unique_ptr<Steps> make_steps_loops(const NewtonState& state);

/// scores_ik = sum over j of x_ij w_kj + w_kd, for (rows, problems) scores and (problems, columns + 1) weights w.
void multiply_rows_loops(const float* features, std::int64_t rows, int columns, const double* weights,
                         int problems, double* scores);

}  // namespace warpscope::classifiers::linear
