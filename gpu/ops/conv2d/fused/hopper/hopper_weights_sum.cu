// The kernel that adds the partial sums of conv2d.backward_weights `hopper` (hopper_weights_sum.cuh). A thread adds
// four neighbouring sums; where there are many splits, several threads share these four and add up in order.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_weights_sum.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::hopper {
namespace {

struct SumProblem {
  int filters;
  int channels;
  int taps;  ///< of dw
  int splits;
  int quads;  ///< of dw
  int bias_quads;
  std::int64_t split_elements;
  std::int64_t bias_at;
  bool aligned;  ///< dw, to 8 bytes
};

constexpr int kSumThreads = 256;
constexpr int kSumBlocks = 4;  // of a multiprocessor, at least
constexpr int kSumGroups = 8;  // of the splits, at most; a thread adds one

/// Where tap r (or s) of three lies among the two of a parity.
__device__ __forceinline__ int folded_tap(int parity, int r) {
  return r > parity ? 1 : 0;
}

/// Four elements of dw by their place in the partial sums, or of db.
struct Quad {
  int filter_slice;
  int tap;
  int channel_slice;
  int index;  ///< in the block; of db in the plane
  bool bias;
};

__device__ __forceinline__ Quad quad_of(const SumProblem& q, int i) {
  if (i >= q.quads) return {0, 0, 0, i - q.quads, true};
  const int block = i / kBlockQuads;
  const int channel_slices = q.channels / kSlice;
  const int line = block / channel_slices;
  return {line / q.taps, line % q.taps, block % channel_slices, i % kBlockQuads, false};
}

/// Where the quad lies in the plane's part of a split; of kPlanes = 4 two taps of dw may have the same tap of a plane.
template <int kPlanes>
__device__ __forceinline__ std::int64_t place_of(const SumProblem& q, const Quad& quad, int plane) {
  if (quad.bias) return q.bias_at + plane * q.filters + 4 * quad.index;
  const int taps = kPlanes == 1 ? q.taps : 4;
  const int tap = kPlanes == 1
                      ? quad.tap
                      : folded_tap(plane >> 1, quad.tap / 3) * 2 + folded_tap(plane & 1, quad.tap % 3);
  const int line = (plane * (q.filters / kSlice) + quad.filter_slice) * taps + tap;
  const std::int64_t block = std::int64_t{line} * (q.channels / kSlice) + quad.channel_slice;
  return block * kBlockElements + 4 * quad.index;
}

__device__ __forceinline__ void write_pair(float* to, float a, float b, bool aligned) {
  if (aligned) {
    *reinterpret_cast<float2*>(to) = float2{a, b};
  } else {
    to[0] = a;
    to[1] = b;
  }
}

__device__ __forceinline__ void write_quad(const SumProblem& q, const Quad& quad, const float4& sum,
                                           float* dw, float* db) {
  if (quad.bias) {
    float* to = db + 4 * quad.index;
    to[0] = sum.x;
    to[1] = sum.y;
    to[2] = sum.z;
    to[3] = sum.w;
    return;
  }
  const int thread = quad.index % static_cast<int>(kWarpgroup);
  const int filter = quad.filter_slice * kSlice + thread / 32 * 16 + thread % 32 / 4;
  const int channel =
      quad.channel_slice * kSlice + quad.index / static_cast<int>(kWarpgroup) * 8 + 2 * (thread % 4);
  const int line = q.taps * q.channels;
  float* to = dw + filter * line + quad.tap * q.channels + channel;
  write_pair(to, sum.x, sum.y, q.aligned);
  write_pair(to + 8 * line, sum.z, sum.w, q.aligned);
}

/// Threads are (quads, groups): a group adds its share of the splits, the first group adds the groups' sums.
template <int kPlanes>
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    hopper_weights_sum(const __grid_constant__ SumProblem q, const float* __restrict__ partial,
                       float* __restrict__ dw, float* __restrict__ db) {
  __shared__ float4 shared[kSumThreads];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int groups = static_cast<int>(blockDim.y);
  const int group = static_cast<int>(threadIdx.y);
  const bool exists = i < q.quads + q.bias_quads;
  const Quad quad = quad_of(q, i);
  float4 sum{0.0f, 0.0f, 0.0f, 0.0f};
  if (exists) {
    const float* planes[kPlanes];
#pragma unroll
    for (int plane = 0; plane < kPlanes; ++plane) planes[plane] = partial + place_of<kPlanes>(q, quad, plane);
    sum = add_range<kPlanes>(planes, q.split_elements, q.splits * group / groups,
                             q.splits * (group + 1) / groups);
  }
  if (group > 0) shared[group * blockDim.x + threadIdx.x] = sum;
  __syncthreads();
  if (group > 0 || !exists) return;
  for (int other = 1; other < groups; ++other) add_quad(sum, shared[other * blockDim.x + threadIdx.x]);
  write_quad(q, quad, sum, dw, db);
}

}  // namespace

void add_splits(const ChainCall& call, const WeightsPlan& plan, const float* partial) {
  const ChainShape& s = call.shape;
  auto* dw = call.operand<float>(Name::weights_gradient);
  const bool folded = plan.planes > 1;
  const int taps = folded ? 9 : plan.taps;
  const SumProblem q{s.out_channels,
                     s.in_channels,
                     taps,
                     plan.splits.count,
                     s.out_channels * s.in_channels * taps / 4,
                     s.bias ? s.out_channels / 4 : 0,
                     plan.split_elements,
                     plan.bias_at,
                     reinterpret_cast<std::uintptr_t>(dw) % sizeof(float2) == 0};
  unsigned groups = 1;
  while (groups < kSumGroups && groups * kSumBatch < static_cast<unsigned>(plan.planes * q.splits))
    groups *= 2;
  const dim3 threads(kSumThreads / groups, groups);
  const auto blocks = static_cast<unsigned>(divide_up(q.quads + q.bias_quads, threads.x));
  const auto kernel = folded ? hopper_weights_sum<4> : hopper_weights_sum<1>;
  run_kernel(call, "sum of the splits", {blocks, threads}, kernel, q, partial, dw, Name::bias_gradient);
}

}  // namespace warpscope::ops::conv2d::fused::hopper
