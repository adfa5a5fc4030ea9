#pragma once
// The kernel of gradients.allreduce `p2p_two_shot`, for other values than gradients.

#include <cstdint>

#include "gpu/ops/variant.h"
#include "gpu/ranks/p2p.h"

namespace warpscope::ops::allreduce {

/// Enqueues values = sum over ranks of weight x values, on all ranks of the call's context, which reach each other's
/// memory. `count` values, at most ranks::kP2pFloats, lie on the device.
void p2p_sum(const OpCall& call, float* values, std::int64_t count);

}  // namespace warpscope::ops::allreduce
