#pragma once
// Random operands of the ops that update parameters: settings, gradients, state and norm that belong together.

#include <random>

#include "gpu/ops/step/step.h"
#include "gpu/verify/operands.h"

namespace warpscope::verify {

/// If `op` reads them, sets the optimizer's settings in `control`: decays in (0, 1), epsilon, weight decay, micro-batches, an
/// update count from 0 to 1000; one in eight is halted, one in eight has an overflow.
void randomize_update_settings(ops::Op op, const ops::OpShape& shape, std::mt19937_64& random,
                               ops::step::StepControl& control);

/// Makes random operands of an update, of step.record or of what is summed over micro-batches belong together: gradients
/// times the loss scale, moments, parts of the norm, clipping by norm (one in two) and by value (one in three), sums that
/// do not cancel; one loss in eight is NaN.
void fit_update(ops::Op op, const ops::OpShape& shape, core::Precision precision, std::mt19937_64& random,
                Operands& operands);

}  // namespace warpscope::verify
