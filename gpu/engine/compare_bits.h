#pragma once
// Compares two tensors of numbers in device memory, bit by bit.

#include <cstdint>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::training {

/// What compare_bits counts. NaNs of the same bits are equal; a NaN beside other bits counts as different,
/// with no size.
struct BitDifferences {
  std::uint64_t different = 0;  ///< elements whose bits differ
  float largest = 0;            ///< largest |a - b|
  float largest_value = 0;      ///< largest |a|
};

/// Enqueues the comparison of `elements` numbers of `type` (f32, f16, bf16) on `stream`; `result` lies in the
/// device's memory and holds zeros.
void compare_bits(const core::Device& device, core::Stream& stream, core::ElementType type,
                  std::int64_t elements, const void* a, const void* b, BitDifferences* result);

// ---- on CUDA ----

void compare_bits_cuda(core::Stream& stream, core::ElementType type, std::int64_t elements, const void* a,
                       const void* b, BitDifferences* result);

}  // namespace warpscope::training
