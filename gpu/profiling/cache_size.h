#pragma once
// How much must be written so that nothing of an operand is left in a cache.

#include <cstddef>

#include "gpu/core/device.h"

namespace warpscope::profiling {

/// Bytes of a GPU's second-level cache, of a CPU's last level (at most 64 MiB; 32 MiB where the system does
/// not tell).
std::size_t cache_bytes(const core::DeviceInfo& device);

}  // namespace warpscope::profiling
