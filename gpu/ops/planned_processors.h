#pragma once
// The GPU that plans of kernels are made for.

namespace warpscope::ops {

/// Multiprocessors of an H100: work is split for so many, whatever the GPU has, so that workspaces and results are the
/// same on all.
inline constexpr int kPlannedProcessors = 132;

}  // namespace warpscope::ops
