#pragma once
// gradients.check: control.overflow = 1 if any of the gradients is an infinity or NaN; otherwise control stays as it is (a
// set flag is never cleared here: step.record does that). sgd.update then skips the step. Gradients are those of the
// scaled loss, of the whole contiguous parameter buffer.
//
// Errors: none. OpShape: count = number of parameters. Source: P. Micikevicius et al., "Mixed precision training" (2018),
// 3.2: dynamic loss scaling.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::gradients {

enum CheckOperands : int { kCheckGradients, kCheckControl };

std::vector<Variant> variants();

}  // namespace warpscope::ops::gradients
