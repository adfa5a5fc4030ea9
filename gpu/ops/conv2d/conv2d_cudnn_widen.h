#pragma once
// The one kernel of the `cudnn` variants that is not cuDNN's.

#include <cstdint>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::ops::conv2d {

/// to[i] = from[i], from the 16-bit type of `precision` (fp16 or bf16) to FP32.
void widen_gradient(const void* from, core::Precision precision, float* to, std::int64_t count,
                    const core::Stream& stream);

}  // namespace warpscope::ops::conv2d
