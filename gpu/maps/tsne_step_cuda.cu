// An iteration of t-SNE on CUDA, three launches: repulsion over tiles of all pairs; attraction, a warp a point, which
// also adds up the tiles' parts; the step. Sums have an order that the number of points and the device fix, so the
// bits are the same every time. Source of the tiles: L. Nyland, M. Harris, J. Prins, "Fast N-body simulation with
// CUDA" (GPU Gems 3, 2007).

#include <algorithm>

#include "gpu/core/cuda.h"
#include "gpu/maps/tsne_pair.h"
#include "gpu/maps/tsne_step.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::maps {
namespace {

constexpr int kRepelThreads = 128;
constexpr int kOwnPoints = 4;  // of a thread: each point that is read from shared memory is used so often
constexpr int kTilePoints = kRepelThreads * kOwnPoints;
constexpr int kBlocksPerMultiprocessor = 8;
constexpr int kLeastChunk = 64;  // points; below, the parts cost more than they bring

/// 1 / x to one unit in the last place, in one instruction of the special function unit; 0 < x.
__device__ __forceinline__ float reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

struct Pull {
  float x = 0, y = 0, normalizer = 0;
};

__device__ __forceinline__ void repel(const float2& own, const float2& other, Pull& sum) {
  const float dx = own.x - other.x, dy = own.y - other.y;
  const float q = reciprocal(fmaf(dx, dx, fmaf(dy, dy, 1.0f)));
  const float squared = q * q;
  sum.normalizer += q;
  sum.x = fmaf(squared, dx, sum.x);
  sum.y = fmaf(squared, dy, sum.y);
}

/// A block has 512 points of its own (blockIdx.x) and a chunk of the others (blockIdx.y).
__global__ void __launch_bounds__(kRepelThreads) repel_tiles(TsneMemory memory, int chunk_points) {
  __shared__ float2 others[kRepelThreads];
  const auto* const points = reinterpret_cast<const float2*>(memory.positions);
  const int first = static_cast<int>(blockIdx.x) * kTilePoints + static_cast<int>(threadIdx.x);
  float2 own[kOwnPoints];
  Pull sums[kOwnPoints];
#pragma unroll
  for (int k = 0; k < kOwnPoints; ++k) own[k] = points[min(first + k * kRepelThreads, memory.points - 1)];
  const int begin = static_cast<int>(blockIdx.y) * chunk_points;
  const int end = min(memory.points, begin + chunk_points);
  for (int from = begin; from < end; from += kRepelThreads) {
    const int count = min(kRepelThreads, end - from);
    __syncthreads();  // nobody reads the former points
    if (static_cast<int>(threadIdx.x) < count)
      others[threadIdx.x] = points[from + static_cast<int>(threadIdx.x)];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < count; ++j) {
      const float2 other = others[j];
#pragma unroll
      for (int k = 0; k < kOwnPoints; ++k) repel(own[k], other, sums[k]);
    }
  }
  float* const to = memory.partial + 3 * std::int64_t{blockIdx.y} * memory.points;
#pragma unroll
  for (int k = 0; k < kOwnPoints; ++k) {
    const int i = first + k * kRepelThreads;
    if (i >= memory.points) continue;
    to[i] = sums[k].x;
    to[memory.points + i] = sums[k].y;
    to[2 * memory.points + std::int64_t{i}] = sums[k].normalizer;
  }
}

constexpr int kGatherThreads = kPointsOfBlock * static_cast<int>(ops::kWarpThreads);

/// Forces of the point of this warp; lane 0 has them in the end.
__device__ void gather_point(const TsneMemory& memory, int i, int lane, float (&forces)[4],
                             double (&sums)[2]) {
  const auto* const points = reinterpret_cast<const float2*>(memory.positions);
  const float2 own = points[i];
  for (int e = memory.starts[i] + lane; e < memory.starts[i + 1]; e += static_cast<int>(ops::kWarpThreads)) {
    const float2 other = points[memory.columns[e]];
    const float dx = own.x - other.x, dy = own.y - other.y;
    const float squared = fmaf(dx, dx, dy * dy);
    const float affinity = memory.affinities[e];
    const float force = affinity / (1.0f + squared);
    forces[0] = fmaf(force, dx, forces[0]);
    forces[1] = fmaf(force, dy, forces[1]);
    sums[1] += static_cast<double>(affinity * log1pf(squared));
  }
  for (int chunk = lane; chunk < memory.chunks; chunk += static_cast<int>(ops::kWarpThreads)) {
    const float* const from = memory.partial + 3 * std::int64_t{chunk} * memory.points + i;
    forces[2] += from[0];
    forces[3] += from[memory.points];
    sums[0] += static_cast<double>(from[2 * std::int64_t{memory.points}]);
  }
  ops::warp_sums(forces);
  ops::warp_sums(sums);
  sums[0] -= 1;  // what the point added itself
}

__global__ void __launch_bounds__(kGatherThreads) gather_forces(TsneMemory memory) {
  __shared__ double of_points[kPointsOfBlock][2];
  const int warp = static_cast<int>(threadIdx.x / ops::kWarpThreads);
  const int lane = static_cast<int>(threadIdx.x % ops::kWarpThreads);
  const int i = static_cast<int>(blockIdx.x) * kPointsOfBlock + warp;
  float forces[4] = {};
  double sums[2] = {};
  if (i < memory.points) gather_point(memory, i, lane, forces, sums);  // all lanes of a warp or none
  if (lane == 0) {
    of_points[warp][0] = sums[0];
    of_points[warp][1] = sums[1];
    if (i < memory.points) {
      reinterpret_cast<float2*>(memory.attraction)[i] = make_float2(forces[0], forces[1]);
      reinterpret_cast<float2*>(memory.repulsion)[i] = make_float2(forces[2], forces[3]);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  PairSums all;
  for (const double(&one)[2] : of_points) {
    all.normalizer += one[0];
    all.attraction += one[1];
  }
  memory.sums[blockIdx.x] = all;
}

constexpr int kMoveThreads = 256;

__global__ void __launch_bounds__(kMoveThreads) move_coordinates(TsneMemory memory, TsneStep step) {
  const int blocks = (memory.points + kPointsOfBlock - 1) / kPointsOfBlock;
  double normalizer[1] = {0};
  for (int block = static_cast<int>(threadIdx.x); block < blocks; block += kMoveThreads) {
    normalizer[0] += memory.sums[block].normalizer;
  }
  ops::block_sums(normalizer);
  const int i = static_cast<int>(blockIdx.x * kMoveThreads + threadIdx.x);
  if (i < 2 * memory.points) move_coordinate(memory, step, static_cast<float>(normalizer[0]), i);
}

unsigned divide_up(std::int64_t count, std::int64_t size) {
  return static_cast<unsigned>((count + size - 1) / size);
}

}  // namespace

int repulsion_chunks_cuda(int multiprocessors, std::int64_t points) {
  const std::int64_t wanted =
      divide_up(std::int64_t{multiprocessors} * kBlocksPerMultiprocessor, divide_up(points, kTilePoints));
  const std::int64_t chunk = std::max<std::int64_t>(kLeastChunk, divide_up(points, wanted));
  return static_cast<int>(divide_up(points, chunk));
}

void find_forces_cuda(core::Stream& stream, const TsneMemory& memory) {
  const cudaStream_t where = core::cuda_stream(stream);
  const int chunk_points = static_cast<int>(divide_up(memory.points, memory.chunks));
  const dim3 tiles(divide_up(memory.points, kTilePoints), static_cast<unsigned>(memory.chunks));
  repel_tiles<<<tiles, kRepelThreads, 0, where>>>(memory, chunk_points);
  core::check_launch("tsne: repulsion");
  gather_forces<<<divide_up(memory.points, kPointsOfBlock), kGatherThreads, 0, where>>>(memory);
  core::check_launch("tsne: attraction");
}

void move_points_cuda(core::Stream& stream, const TsneMemory& memory, const TsneStep& step) {
  move_coordinates<<<divide_up(2 * std::int64_t{memory.points}, kMoveThreads), kMoveThreads, 0,
                     core::cuda_stream(stream)>>>(memory, step);
  core::check_launch("tsne: step");
}

}  // namespace warpscope::maps
