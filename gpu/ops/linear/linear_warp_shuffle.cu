// linear.backward_bias, variant `warp_shuffle`: a block adds eight columns. A warp reads eight neighbouring
// columns of four rows at a time, its lanes exchange sums by shuffles, and the warps theirs through shared
// memory. Over `atomic` it adds that nothing is cleared or contended, and over `naive` 32 threads a column;
// the order of additions is fixed, so the result is deterministic. Limits: none on the shape. Bound by
// memory. At most 32 registers, 256 bytes of shared memory, no spills. Source: linear.cpp; J. Luitjens, "Faster
// parallel reductions on Kepler" (2014).

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLanes = 32;
constexpr unsigned kWarps = kThreads / kLanes;
constexpr unsigned kColumns = 8;  // 32 bytes of FP32: what memory delivers at least
constexpr unsigned kRows = kThreads / kColumns;
constexpr unsigned kAllLanes = 0xffffffffu;

template <class T>
__global__ void linear_backward_bias_warp_shuffle(std::int64_t batch, std::int64_t outputs,
                                                  const T* __restrict__ dy, float* __restrict__ db) {
  __shared__ float partial[kWarps][kColumns];
  const unsigned column = threadIdx.x % kColumns;
  const std::int64_t output = std::int64_t{blockIdx.x} * kColumns + column;
  float sum = 0.0f;
  if (output < outputs) {
    for (std::int64_t n = threadIdx.x / kColumns; n < batch; n += kRows) {
      sum += to_float(dy[n * outputs + output]);
    }
  }
  // Lanes of one column are kColumns apart.
  for (unsigned distance = kLanes / 2; distance >= kColumns; distance /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  }
  if (threadIdx.x % kLanes < kColumns) partial[threadIdx.x / kLanes][column] = sum;
  __syncthreads();
  if (threadIdx.x < kColumns && output < outputs) {
    float total = 0.0f;
    for (unsigned warp = 0; warp < kWarps; ++warp) total += partial[warp][column];
    db[output] = total;
  }
}

void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  const unsigned blocks = (static_cast<unsigned>(s.out_channels) + kColumns - 1) / kColumns;
  with_storage(call.precision, [&]<class T>(T) {
    run_kernel(call, {blocks, kThreads}, linear_backward_bias_warp_shuffle<T>, s.batch, s.out_channels,
               Name::output_gradient, Name::bias_gradient);
  });
}

}  // namespace

Variant warp_shuffle_backward_bias() {
  return cuda_variant(
      Op::linear_backward_bias, "warp_shuffle", backward_bias,
      "A block adds eight columns, its lanes by shuffles: no atomics, the same bits every time.",
      {.presets = {{"atomic_free"}}});
}

}  // namespace warpscope::ops::linear
