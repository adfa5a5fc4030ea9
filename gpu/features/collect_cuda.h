#pragma once
// The CUDA half of collect.h.

#include "gpu/features/collect.h"

namespace warpscope::features {

void collect_cuda(core::Stream& stream, const CollectCall& call);

}  // namespace warpscope::features
