// The kernel that adds the partial sums of hopper_general_weights.cuh in the order of the splits and brings them into
// the order of dw. A thread adds four neighbouring sums; where there are many splits, several threads share these four
// and add up in order. Bound by memory.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_weights_sum.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general_weights.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

namespace tiles = fused::hopper;

constexpr int kSumThreads = 256;
constexpr int kMostGroups = 8;  // of the splits; a thread adds one

/// A thread's four sums: of two channels of the units' tensor, eight apart, and two of the columns'.
struct UnitQuad {
  int tap;
  int row;  ///< the first channel of the units' tensor
  int column;
  bool exists;
};

__device__ __forceinline__ UnitQuad unit_quad(const WeightsProblem& q, int i) {
  constexpr int kThreads = static_cast<int>(tiles::kWarpgroup);
  const int thread = i % kThreads;
  const int eighths = q.tile_columns / 8;
  const int unit_of_all = i / (kThreads * eighths);
  const int eighth = i / kThreads - unit_of_all * eighths;
  const int block = unit_of_all / q.tile_units;
  const int line = block / q.column_tiles;
  const int tap = line / q.groups;
  const int unit = (line - tap * q.groups) * q.tile_units + unit_of_all - block * q.tile_units;
  const int row = unit * kUnitRows + thread / 32 * 16 + thread % 32 / 4;
  const int slice = row / q.slice;
  const int tap_of_slice = slice / q.slices;
  return {q.taps_in_rows ? tap_of_slice : tap, row - tap_of_slice * q.slices * q.slice,
          (block - line * q.column_tiles) * q.tile_columns + 8 * eighth + 2 * (thread % 4),
          slice < q.all_slices};
}

__device__ __forceinline__ void write_sums(const WeightsProblem& q, const UnitQuad& quad, const float4& sum,
                                           float* dw) {
  // dw[k][tap][c]: of the units' channels and the columns', c are those of x.
  const int taps = q.down.count * q.right.count;
  const int inputs = q.taps_in_rows ? q.row_channels : q.column_channels;
  const int row_step = q.taps_in_rows ? 1 : taps * inputs;
  const int column_step = q.taps_in_rows ? taps * inputs : 1;
  float* to = dw + static_cast<std::int64_t>(quad.tap) * inputs +
              static_cast<std::int64_t>(quad.row) * row_step +
              static_cast<std::int64_t>(quad.column) * column_step;
  if (quad.row < q.row_channels) {
    to[0] = sum.x;
    to[column_step] = sum.y;
  }
  if (quad.row + 8 < q.row_channels) {
    to += 8 * row_step;
    to[0] = sum.z;
    to[column_step] = sum.w;
  }
}

/// Threads are (quads, groups): a group adds its share of the splits, the first group adds the groups' sums. Behind the
/// quads of dw come those of db.
__global__ void __launch_bounds__(kSumThreads)
    hopper_general_weights_sum(const __grid_constant__ WeightsProblem q, const float* __restrict__ partial,
                               float* __restrict__ dw, float* __restrict__ db) {
  __shared__ float4 shared[kSumThreads];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int groups = static_cast<int>(blockDim.y);
  const int group = static_cast<int>(threadIdx.y);
  const auto quads = static_cast<int>(q.bias_at / 4);
  const bool bias = i >= quads;
  const int outputs = q.taps_in_rows ? q.column_channels : q.row_channels;
  const UnitQuad quad = unit_quad(q, bias ? 0 : i);
  const bool exists = bias ? q.bias && 4 * (i - quads) < outputs
                           : quad.exists && quad.row < q.row_channels && quad.column < q.column_channels;
  float4 sum{0.0f, 0.0f, 0.0f, 0.0f};
  if (exists) {
    const float* const planes[1] = {partial + 4 * static_cast<std::int64_t>(i)};
    sum = tiles::add_range<1>(planes, q.split_elements, q.splits * group / groups,
                              q.splits * (group + 1) / groups);
  }
  if (group > 0) shared[group * blockDim.x + threadIdx.x] = sum;
  __syncthreads();
  if (group > 0 || !exists) return;
  for (int other = 1; other < groups; ++other) {
    tiles::add_quad(sum, shared[other * blockDim.x + threadIdx.x]);
  }
  if (!bias) return write_sums(q, quad, sum, dw);
  float* const to = db + 4 * (i - quads);
  to[0] = sum.x;
  to[1] = sum.y;
  to[2] = sum.z;
  to[3] = sum.w;
}

}  // namespace

void add_weight_splits(const OpCall& call, const WeightsProblem& q) {
  unsigned groups = 1;
  while (groups < kMostGroups && groups * tiles::kSumBatch < static_cast<unsigned>(q.splits)) groups *= 2;
  const dim3 threads(kSumThreads / groups, groups);
  const std::int64_t quads = q.bias_at / 4 + (q.bias ? call.shape.out_channels / 4 : 0);
  run_kernel(call, "sum of the splits", {static_cast<unsigned>(divide_up(quads, threads.x)), threads},
             hopper_general_weights_sum, q, call.workspace, Name::weights_gradient, Name::bias_gradient);
}

}  // namespace warpscope::ops::conv2d::hopper_general
