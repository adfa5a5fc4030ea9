#pragma once
// The two halves of measure_peaks().

#include <memory>

#include "gpu/profiling/peaks.h"

namespace warpscope::profiling {

Peaks measure_cpu_peaks();
/// Only where the build has CUDA.
Peaks measure_cuda_peaks(const std::shared_ptr<core::Device>& device);

}  // namespace warpscope::profiling
