#pragma once
// The CUDA half of count_values.h.

#include "gpu/statistics/count_values.h"

namespace warpscope::statistics {

void count_values_cuda(core::Stream& stream, const CountCall& call);

}  // namespace warpscope::statistics
