#pragma once
// What a call of a variant puts on a GPU, found without knowing the variant: its launch is captured into a
// graph, and the graph's nodes are looked at.

#include <functional>

#include "gpu/core/device.h"
#include "gpu/profiling/bench.h"

namespace warpscope::profiling {

struct LaunchSummary {
  int launches = 0;           ///< kernels, copies and fills
  KernelResources resources;  ///< of the kernel with the lowest occupancy; zeros where CUDA does not tell
};

/// Captures `launch`, which enqueues on `stream`, and runs nothing. Only where the build has CUDA. Throws
/// core::Error if the work cannot be captured.
LaunchSummary summarize_launches(const core::Device& device, core::Stream& stream,
                                 const std::function<void()>& launch);

}  // namespace warpscope::profiling
