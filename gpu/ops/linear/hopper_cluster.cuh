#pragma once
// Hopper's instructions for clusters of blocks as functions, one instruction each, beside those of
// conv2d/fused/hopper/hopper_ptx.cuh: copies of a box to several blocks (multicast), arrivals at another block's
// barrier, numbers sent to another block, and the barrier of all threads of a cluster.
//
// Source: NVIDIA, "Parallel Thread Execution ISA", sections "cp.async.bulk.tensor" (.multicast::cluster), "mapa",
// "mbarrier.arrive", "st.async", "mbarrier.try_wait", "barrier.cluster". Needs compute capability 9.0.

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

/// The address of this place in the shared memory of the cluster's block `rank`.
__device__ __forceinline__ mma::SharedAddress address_in(mma::SharedAddress place, unsigned rank) {
  mma::SharedAddress theirs;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(place), "r"(rank));
  return theirs;
}

/// Writes a number to a place of a block of the cluster; its barrier gets four bytes. Both by address_in().
__device__ __forceinline__ void send(mma::SharedAddress to, mma::SharedAddress barrier, float value) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %2, [%1];" ::"r"(to),
               "r"(barrier), "f"(value)
               : "memory");
}

/// Waits until the phase of this parity of the block's own barrier is complete, and sees what other blocks sent
/// with it.
__device__ __forceinline__ void wait_of_cluster(mma::SharedAddress barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra passed;\n"
      "bra again;\n"
      "passed:\n"
      "}" ::"r"(barrier),
      "r"(parity)
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
