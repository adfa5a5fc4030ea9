// Counting on CUDA: one block a chunk of one tensor, whichever tensor it is of. The histogram of a block lies in
// shared memory, one copy for every few warps, since neighbours often fall into the same bin; zeros, which a ReLU
// makes many of, and the rare counters are kept in registers until the end. Counts are integers and sums are added in
// an order that the block's size fixes, so the result has the same bits every time.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"
#include "gpu/statistics/count_values.h"

namespace warpscope::statistics {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kCopies = 4;
constexpr int kRare = kCounters - kZeros;  // the counters from kZeros on

__device__ float load(const CountedTensor& tensor, std::int64_t i) {
  switch (tensor.type) {
    case core::ElementType::f16:
      return __half2float(static_cast<const __half*>(tensor.values)[i]);
    case core::ElementType::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(tensor.values)[i]);
    default:
      return static_cast<const float*>(tensor.values)[i];
  }
}

/// The tensor that the chunk is of: the last that begins at or before it.
__device__ const CountedTensor& tensor_of(const CountCall& call, std::int64_t chunk) {
  int low = 0, high = call.tensor_count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (call.tensors[middle].first_chunk <= chunk ? low : high) = middle;
  }
  return call.tensors[low];
}

/// The smallest `least` and the largest `most` of the block, in thread 0.
__device__ void block_range(float& least, float& most) {
  __shared__ float lows[ops::kMostWarps], highs[ops::kMostWarps];
  const auto reduce = [&] {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      least = fminf(least, __shfl_xor_sync(0xffffffffu, least, lanes));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lanes));
    }
  };
  reduce();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) {
    lows[warp] = least;
    highs[warp] = most;
  }
  __syncthreads();
  if (warp != 0) return;
  const bool there = lane < blockDim.x / 32;
  least = there ? lows[lane] : INFINITY;
  most = there ? highs[lane] : -INFINITY;
  reduce();
}

__global__ void __launch_bounds__(kThreads) count_chunks(CountCall call) {
  __shared__ std::uint32_t bins[kCopies][kCounters];
  for (unsigned i = threadIdx.x; i < kCopies * kCounters; i += kThreads)
    bins[i / kCounters][i % kCounters] = 0;
  __syncthreads();
  const std::int64_t chunk = blockIdx.x;
  const CountedTensor tensor = tensor_of(call, chunk);
  const std::int64_t first = (chunk - tensor.first_chunk) * kChunkElements;
  const std::int64_t end = min(tensor.elements, first + kChunkElements);
  const float divisor = tensor.divisor == nullptr ? 1.0f : *tensor.divisor;
  std::uint32_t* const own = bins[threadIdx.x / 32 % kCopies];
  std::uint32_t rare[kRare] = {};
  double sums[2] = {};
  float least = INFINITY, most = -INFINITY;
  for (std::int64_t i = first + threadIdx.x; i < end; i += kThreads) {
    const float before = tensor.before == nullptr ? 0.0f : tensor.before[i];
    const float value = __fdiv_rn(load(tensor, i) - before, divisor);
    const std::uint32_t bits = __float_as_uint(value);
    const int bin = bin_of(bits);
    const bool octave = has_half_octave(bits);
    if (octave) atomicAdd(own + bin, 1u);
    const int fp16 = octave ? fp16_loss(bits) : -1, bf16 = octave ? bf16_loss(bits) : -1;
#pragma unroll
    for (int r = 0; r < kRare; ++r) {
      rare[r] += (bin == kZeros + r || fp16 == kZeros + r || bf16 == kZeros + r) ? 1u : 0u;
    }
    if (bin == kInfinities || bin == kNans) continue;
    sums[0] += static_cast<double>(value);
    sums[1] += static_cast<double>(value) * static_cast<double>(value);
    least = fminf(least, value);
    most = fmaxf(most, value);
  }
#pragma unroll
  for (int r = 0; r < kRare; ++r) {
    if (rare[r] > 0) atomicAdd(own + kZeros + r, rare[r]);
  }
  ops::block_sums(sums);
  block_range(least, most);
  __syncthreads();
  if (threadIdx.x == 0) call.sums[chunk] = {sums[0], sums[1], least, most};
  std::uint32_t* const result = call.counters + static_cast<std::size_t>(tensor.result) * kCounters;
  for (unsigned i = threadIdx.x; i < kCounters; i += kThreads) {
    std::uint32_t total = 0;
    for (unsigned copy = 0; copy < kCopies; ++copy) total += bins[copy][i];
    if (total > 0) atomicAdd(result + i, total);
  }
}

}  // namespace

void count_values_cuda(core::Stream& stream, const CountCall& call) {
  if (call.chunks == 0) return;
  count_chunks<<<static_cast<unsigned>(call.chunks), kThreads, 0, core::cuda_stream(stream)>>>(call);
  core::check_launch("count_values");
}

}  // namespace warpscope::statistics
