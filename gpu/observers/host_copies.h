#pragma once
// What a look has brought to the host, as FP32.

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::training {

/// All of a buffer of FP32 numbers.
std::vector<float> floats(const core::HostBuffer& buffer);

/// Elements of `type`, widened.
std::vector<float> widened(std::span<const std::byte> bytes, core::ElementType type);

}  // namespace warpscope::training
