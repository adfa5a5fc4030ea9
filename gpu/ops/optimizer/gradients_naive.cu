// gradients.accumulate, gradients.keep and gradients.norm, variant `naive`: the first rung on CUDA. One
// thread per gradient; for the norm one block a slice, whose threads take every 256th gradient and vote
// whether one is not finite. A block that found one stores the flag: all store the same value to the same
// place, so the result does not depend on their order.
// Limits: none on the count. Bound by memory: 12 bytes a parameter (8 in a step's first micro-batch), 8 and
// 4. At most 46 registers, 128 bytes of shared memory, no spills. Source: optimizer.cpp; block_sum.cuh;
// __syncthreads_or: "CUDA C++ Programming Guide", synchronization functions.

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/optimizer/shards.h"
#include "gpu/ops/optimizer/slice.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {
namespace {

template <class Index>
__global__ void gradients_accumulate_naive(Index count, int shards, const float* __restrict__ gradients,
                                           const step::StepControl* __restrict__ control,
                                           float* __restrict__ sums) {
  const float share = 1.0f / static_cast<float>(control->micro_batches);
  const ShardPlace place = place_of(*control, shards);
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    float sum = (place.first ? 0.0f : sums[i]) + share * gradients[i];
    for (int slot = 1; slot <= place.waiting; ++slot) sum += sums[std::int64_t{slot} * count + i];
    sums[i] = sum;
    if (place.slot > 0) sums[std::int64_t{place.slot} * count + i] = sum;
  }
}

template <class Index>
__global__ void gradients_keep_naive(Index count, std::int64_t rows, const float* __restrict__ gradients,
                                     const step::StepControl* __restrict__ control,
                                     float* __restrict__ kept) {
  kept += control->micro_batch % rows * count;
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) kept[i] = gradients[i];
}

__global__ void gradients_norm_naive(std::int64_t count, std::int64_t length,
                                     const float* __restrict__ gradients,
                                     step::StepControl* __restrict__ control, float* __restrict__ parts) {
  const Slice slice = slice_of_block<1>(count, length);
  float sum[1] = {0.0f};
  bool finite = true;
  for (std::int64_t i = slice.begin + threadIdx.x; i < slice.end; i += kElementThreads) {
    const float gradient = gradients[i];
    sum[0] += gradient * gradient;
    finite = finite && isfinite(gradient);
  }
  block_sums(sum);
  const bool overflowed = __syncthreads_or(!finite) != 0;
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = sum[0];
  if (overflowed) control->overflow = 1;
}

void accumulate(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  with_index(count, [&]<class Index>(Index) {
    run_elements(call, count, gradients_accumulate_naive<Index>, count, call.shape.shards, Name::gradients,
                 Name::control, Name::sums);
  });
}

void keep(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  with_index(count, [&]<class Index>(Index) {
    run_elements(call, count, gradients_keep_naive<Index>, count, call.shape.batch, Name::gradients,
                 Name::control, Name::kept);
  });
}

void norm(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  run_kernel(call, {kSumParts}, gradients_norm_naive, count, slice_length(count), Name::gradients,
             Name::control, Name::norm_parts);
}

}  // namespace

Variant naive_accumulate() {
  return naive_variant(Op::gradients_accumulate, accumulate, "One thread per parameter, 4 bytes at a time.");
}
Variant naive_keep() {
  return naive_variant(Op::gradients_keep, keep, "One thread per parameter, 4 bytes at a time.");
}
Variant naive_norm() {
  return naive_variant(Op::gradients_norm, norm,
                       "One block a slice, 4 bytes at a time; a tree adds its threads.");
}

}  // namespace warpscope::ops::optimizer
