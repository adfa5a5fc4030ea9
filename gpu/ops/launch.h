#pragma once
// How variants are prepared and launched, whoever does it: plans, proofs, benches.

#include <memory>

#include "gpu/ops/variant.h"

namespace warpscope::ops {

/// What Variant::prepare makes; nullptr where there is none.
std::unique_ptr<Prepared> prepare(const OpCall& call);

/// Enqueues a call, or runs it on a CPU: there with subnormal numbers taken for zeros (core/subnormals.h), on every
/// thread that takes part and every time, so that a step takes as long and gives the same bits whichever thread makes
/// it. Not in FP64, the reference's. Second moments of small gradients are such numbers: (1e-20)^2 beside an epsilon
/// of 1e-8 is nothing either way.
void launch(const OpCall& call);

}  // namespace warpscope::ops
