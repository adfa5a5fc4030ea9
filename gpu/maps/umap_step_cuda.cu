// A step of UMAP on CUDA: a warp a point, its lanes take the edges in turn.

#include "gpu/core/cuda.h"
#include "gpu/maps/umap_pair.h"
#include "gpu/maps/umap_step.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::maps {
namespace {

constexpr int kStepThreads = 256;
constexpr int kWarps = kStepThreads / static_cast<int>(ops::kWarpThreads);

__global__ void __launch_bounds__(kStepThreads) follow_edges(UmapMemory memory, UmapStep step) {
  const int i = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x / ops::kWarpThreads);
  if (i >= memory.points) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x % ops::kWarpThreads);
  Force force;
  for (int e = memory.starts[i] + lane; e < memory.starts[i + 1]; e += static_cast<int>(ops::kWarpThreads)) {
    follow_edge(memory, step, i, e, force);
  }
  float sums[2] = {force.x, force.y};
  ops::warp_sums(sums);
  if (lane < 2)
    memory.after[2 * i + lane] =
        memory.before[2 * i + lane] + step.learning_rate * (lane == 0 ? sums[0] : sums[1]);
}

}  // namespace

void move_along_edges_cuda(core::Stream& stream, const UmapMemory& memory, const UmapStep& step) {
  const auto blocks = static_cast<unsigned>((memory.points + kWarps - 1) / kWarps);
  follow_edges<<<blocks, kStepThreads, 0, core::cuda_stream(stream)>>>(memory, step);
  core::check_launch("umap: step");
}

}  // namespace warpscope::maps
