// The sum of partial gradients (narrow_sum.h). A block has 32 neighbouring elements; its eight warps share
// the partial results of each, and the first adds up the eight sums: the same bits every time. Bound by the
// L2 cache, where the partial results still are. Limits: fewer than 2^31 elements of all partial results
// together.
// Source: M. Harris, "Optimizing parallel reduction in CUDA" (2007).

#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::narrow {
namespace {

inline constexpr int kSumWarps = 8;
inline constexpr int kSumElements = 32;  // of a block

__global__ void __launch_bounds__(kSumWarps * 32)
    narrow_sum(const __grid_constant__ SumProblem q, const float* __restrict__ partial,
               float* __restrict__ dw, float* __restrict__ db) {
  __shared__ float sums[kSumWarps][kSumElements];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int element = static_cast<int>(blockIdx.x) * kSumElements + lane;
  const int elements = q.weights + q.bias;
  float sum = 0.0f;
  if (element < elements) {
#pragma unroll 8
    for (int split = warp; split < q.splits; split += kSumWarps) sum += partial[split * elements + element];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || element >= elements) return;
  for (int other = 1; other < kSumWarps; ++other) sum += sums[other][lane];
  if (element < q.weights) {
    dw[element] = sum;
  } else if (db != nullptr) {
    db[element - q.weights] = sum;
  }
}

}  // namespace

void launch_sum(const Variant& variant, core::Stream& stream, std::string_view part,
                const SumProblem& problem, const SumTensors& tensors) {
  struct Call {
    const Variant* variant;
    core::Stream* stream;
  };
  const int blocks = (problem.weights + problem.bias + kSumElements - 1) / kSumElements;
  run_kernel(Call{&variant, &stream}, part, {static_cast<unsigned>(blocks), kSumWarps * 32}, narrow_sum,
             problem, tensors.partial, tensors.weights_gradient, tensors.bias_gradient);
}

void launch_sum(const ChainCall& call, std::string_view part, const SumProblem& problem) {
  launch_sum(*call.variant, *call.stream, part, problem,
             {static_cast<const float*>(call.workspace), call.operand<float>(Name::weights_gradient),
              call.operand<float>(Name::bias_gradient)});
}

}  // namespace warpscope::ops::conv2d::fused::narrow
