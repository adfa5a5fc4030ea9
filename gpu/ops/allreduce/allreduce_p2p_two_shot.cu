// gradients.allreduce, variant `p2p_two_shot`: over `nccl_plain` it adds a fixed order, so that sums have the same bits
// as on one rank, and no library. Each block copies its part of the values into the rank's window; when the same block
// of all ranks has come, it adds one rank's share of that part from all windows, by the tree of ranks::sum_over_ranks,
// and writes it to all windows; when all have come again, it copies the sums back. So blocks wait for blocks of the
// same number only, and each value crosses a link twice.
// Limits: 2 to 8 ranks of one host, whose GPUs reach each other's memory; where other work leaves no room for a block,
// those of its number on other ranks hold theirs until there is. Source: allreduce.cpp; "two-shot": S. Li et al.,
// NVIDIA's TensorRT-LLM custom all-reduce; PTX ISA, memory consistency model (release and acquire at system scope).

#include <algorithm>
#include <cstdint>

#include "gpu/ops/allreduce/p2p_sum.h"
#include "gpu/ops/allreduce/tree_sum.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/p2p.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::allreduce {
namespace {

using ranks::kMostPeers;
using ranks::kP2pBlocks;
using ranks::P2pWindows;

constexpr int kThreads = 512;

__device__ void store_release(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ std::uint32_t load_acquire(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// This block of all ranks has come to point `point` (0 or 1) of call `call`, counted from 1.
__device__ void meet(const P2pWindows& windows, int point, std::uint32_t call) {
  __threadfence_system();
  __syncthreads();
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < windows.size) {
    const auto at = [&](int rank) {
      return (point * kMostPeers + rank) * kP2pBlocks + static_cast<int>(blockIdx.x);
    };
    store_release(windows.arrived[peer] + at(windows.rank), call);
    const std::uint32_t* mine = windows.arrived[windows.rank] + at(peer);
    const volatile std::uint32_t* give_up = windows.give_up;  // in the host's memory: far
    for (unsigned looks = 1; static_cast<std::int32_t>(load_acquire(mine) - call) < 0; ++looks) {
      if (looks % 4096 == 0 && *give_up != 0) break;
    }
  }
  __syncthreads();
}

/// Values [begin, end) of the call are values[begin - first] and lie at the same places of the windows. `begin` is a
/// multiple of 4; the numbers behind `end` up to the next one are nobody's.
__device__ void add_part(const P2pWindows& windows, float* values, float weight, std::int64_t begin,
                         std::int64_t end, std::int64_t first, std::uint32_t call) {
  float* const in = windows.in[windows.rank];
  const float* const out = windows.out[windows.rank];
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) in[i] = weight * values[i - first];
  meet(windows, 0, call);
  const std::int64_t vectors = (end - begin + 3) / 4;
  const std::int64_t share = (vectors + windows.size - 1) / windows.size;
  const std::int64_t behind = min((windows.rank + 1) * share, vectors);
#pragma unroll 2
  for (std::int64_t v = windows.rank * share + threadIdx.x; v < behind; v += kThreads) {
    const std::int64_t i = begin + 4 * v;
    float4 each[kMostPeers];
#pragma unroll
    for (int rank = 0; rank < kMostPeers; ++rank) {
      if (rank < windows.size) each[rank] = __ldcv(reinterpret_cast<const float4*>(windows.in[rank] + i));
    }
    const float4 sum = tree_sum(each, windows.size);
#pragma unroll
    for (int rank = 0; rank < kMostPeers; ++rank) {
      if (rank < windows.size) __stwt(reinterpret_cast<float4*>(windows.out[rank] + i), sum);
    }
  }
  meet(windows, 1, call);
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) values[i - first] = __ldcv(out + i);
}

/// The last block has the `rest` of metrics and running statistics, behind the `count` gradients.
__global__ void __launch_bounds__(kThreads)
    allreduce_p2p_two_shot(P2pWindows windows, float weight, std::int64_t count, std::int64_t rest,
                           float* gradients, float* metrics, float* running) {
  const std::uint32_t call = windows.calls[blockIdx.x] + 1;
  const std::int64_t parts = gridDim.x - 1;
  if (blockIdx.x < parts) {
    const std::int64_t part = (count + 4 * parts - 1) / (4 * parts) * 4;
    const std::int64_t begin = min(static_cast<std::int64_t>(blockIdx.x) * part, count);
    add_part(windows, gradients, weight, begin, min(begin + part, count), 0, call);
  } else {
    // The metrics lie in front of the statistics, as one part of the window.
    const std::int64_t first = (count + 3) / 4 * 4;
    float* const in = windows.in[windows.rank] + first;
    for (std::int64_t i = threadIdx.x; i < rest; i += kThreads) {
      in[i] = i < step::kMetrics ? metrics[i] : running[i - step::kMetrics];
    }
    __syncthreads();
    add_part(windows, in, weight, first, first + rest, first, call);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < rest; i += kThreads) {
      (i < step::kMetrics ? metrics[i] : running[i - step::kMetrics]) = in[i];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) windows.calls[blockIdx.x] = call;
}

void gradients(const OpCall& call) {
  const ranks::Share& share = call.context->share;
  if (!share.sums) return;
  const P2pWindows& windows = share.sums->p2p()->windows();
  // What does not fit the window beside metrics and statistics comes in further calls.
  const std::int64_t rest = step::kMetrics + call.shape.in_channels;
  const std::int64_t room = (ranks::kP2pFloats - rest) / 4 * 4 - 4;
  auto* gradients = call.operand<float>(Name::gradients);
  std::int64_t done = 0;
  do {
    const std::int64_t count = std::min(room, call.shape.count - done);
    const bool last = done + count == call.shape.count;
    run_kernel(call, {kP2pBlocks, kThreads}, allreduce_p2p_two_shot, windows, share.weight, count,
               last ? rest : 0, gradients + done, Name::metrics, Name::running);
    done += count;
  } while (done < call.shape.count);
}

std::string refuses(const OpShape& shape) {
  if (shape.in_channels > 1 << 20) return "more running statistics than fit a window";
  return shape.peers ? "" : "these ranks do not reach each other's memory";
}

}  // namespace

void p2p_sum(const OpCall& call, float* values, std::int64_t count) {
  const ranks::Share& share = call.context->share;
  run_kernel(call, {kP2pBlocks, kThreads}, allreduce_p2p_two_shot, share.sums->p2p()->windows(), share.weight,
             count, 0, values, nullptr, nullptr);
}

Variant p2p_two_shot_gradients() {
  Variant variant =
      cuda_variant(Op::gradients_allreduce, "p2p_two_shot", gradients,
                   "Our kernel: each rank adds a part from the memory of all and writes it to all, in one "
                   "fixed order.");
  variant.refuses = refuses;
  return variant;
}

}  // namespace warpscope::ops::allreduce
