#pragma once
// Kernels that do nothing but keep one unit of a GPU busy.

#include <cstddef>

#include <cuda_runtime.h>

#include "gpu/core/types.h"

namespace warpscope::profiling {

/// A launch of a kernel that measures.
struct PeakLaunch {
  cudaStream_t stream = nullptr;
  int multiprocessors = 0;
  int iterations = 0;
  float* sink = nullptr;  ///< one element, never written: the compiler cannot know
};

/// FP32 fused multiply-adds in registers. Returns the FLOPs of the launch, two for each multiply-add.
double launch_fused_multiply_adds(const PeakLaunch& launch);

/// Matrix products in registers by mma.sync in tf32, fp16 or bf16, accumulated in FP32. Returns the FLOPs of
/// the launch.
double launch_matrix_products(const PeakLaunch& launch, core::Precision precision);

/// The same by wgmma from shared memory, on compute capability 9.0 where the build has code for it
/// (WARPSCOPE_HAVE_HOPPER).
double launch_warpgroup_products(const PeakLaunch& launch, core::Precision precision);

/// Copies `bytes` (a multiple of 16) by 16-byte loads and stores.
void launch_copy(cudaStream_t stream, int multiprocessors, void* destination, const void* source,
                 std::size_t bytes);

}  // namespace warpscope::profiling
