#pragma once
// The one kernel of the `cudnn` variants that is not cuDNN's: 16-bit numbers that it wants in FP32, or gives in 16
// bits.

#include <array>
#include <cstdint>
#include <string_view>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::ops::cudnn {

/// to[i] = from[0][i] for i < count, and to[count + i] = from[1][i] unless that is nullptr: from the 16-bit type of
/// `precision` (fp16 or bf16) to FP32. Throws core::Error with `what`.
void widen(std::array<const void*, 2> from, core::Precision precision, float* to, std::int64_t count,
           const core::Stream& stream, std::string_view what);

}  // namespace warpscope::ops::cudnn
