#pragma once
// The CUDA half of compare_bits.h.

#include "gpu/engine/compare_bits.h"

namespace warpscope::training {

void compare_bits_cuda(core::Stream& stream, core::ElementType type, std::int64_t elements, const void* a,
                       const void* b, BitDifferences* result);

}  // namespace warpscope::training
