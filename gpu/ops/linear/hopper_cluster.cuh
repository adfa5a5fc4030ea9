#pragma once
// Hopper's instructions for clusters of blocks as functions, one instruction each, beside those of
// conv2d/fused/hopper_ptx.cuh: copies of a box to several blocks (multicast), arrivals at another block's
// barrier, and the barrier of all threads of a cluster.
//
// Source: NVIDIA, "Parallel Thread Execution ISA", sections "cp.async.bulk.tensor" (.multicast::cluster), "mapa",
// "mbarrier.arrive", "barrier.cluster". Needs compute capability 9.0.

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime.h>

#include "gpu/ops/mma.cuh"

namespace warpscope::ops::linear::hopper {

/// The number of this block in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// Copies a box of a tensor of three dimensions to the same place in the shared memory of all blocks of the cluster
/// whose bit of `blocks` is set; the barrier at the same place of each gets the box's bytes.
__device__ __forceinline__ void load_shared_box(mma::SharedAddress to, const CUtensorMap& map,
                                                mma::SharedAddress barrier, std::uint16_t blocks, int c0,
                                                int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "h"(blocks)
      : "memory");
}

/// Arrives at the barrier at this place of the cluster's block `rank`, which may be this one. What this thread has
/// written is not published beyond its block: that would cost a fence of the whole GPU.
__device__ __forceinline__ void arrive_at(mma::SharedAddress barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 theirs;\n"
      "mapa.shared::cluster.u32 theirs, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [theirs];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

/// All threads of the cluster arrive, and later wait for each other. Writes are not published, but barriers are, if
/// publish_barriers() came before.
__device__ __forceinline__ void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

}  // namespace warpscope::ops::linear::hopper
