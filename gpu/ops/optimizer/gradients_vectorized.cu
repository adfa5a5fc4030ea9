// gradients.accumulate, gradients.keep and gradients.norm, variant `vectorized`: over `naive` they add
// 16-byte accesses, and the norm more threads on each slice. A row of kept gradients that does not begin at a
// multiple of 16 bytes is written element by element. Limits: none on the count; what is left over after the
// last whole vector, and memory that is not aligned to 16 bytes, goes element by element. Bound by memory: 12
// bytes a parameter (8 in a step's first micro-batch), 8 and 4. At most 33 registers, 128 bytes of shared
// memory, no spills. Source: optimizer.cpp; vectorized.cuh; block_sum.cuh.

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/optimizer/shards.h"
#include "gpu/ops/optimizer/slice.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::optimizer {
namespace {

constexpr int kWidth = kWide<float>;

/// Slots of sums lie `slot` elements from each other; one shard has one only.
template <bool Sharded, class Index>
__global__ void gradients_accumulate_vectorized(Index vectors, Index count, int shards, std::int64_t slot,
                                                const float* __restrict__ gradients,
                                                const step::StepControl* __restrict__ control,
                                                float* __restrict__ sums) {
  const float share = 1.0f / static_cast<float>(control->micro_batches);
  const ShardPlace place = place_of(*control, Sharded ? shards : 1);
  for_each_vector<kWidth>(vectors, count, [=](Index i, auto width) {
    constexpr int kElements = decltype(width)::value;
    float gradient[kElements];
    float sum[kElements] = {};
    load_floats(gradients + i, gradient);
    if (!place.first) load_floats(sums + i, sum);
    for (int k = 0; k < kElements; ++k) sum[k] += share * gradient[k];
    if constexpr (Sharded) {
      for (int level = 1; level <= place.waiting; ++level) {
        float waiting[kElements];
        load_floats(sums + level * slot + i, waiting);
        for (int k = 0; k < kElements; ++k) sum[k] += waiting[k];
      }
      if (place.slot > 0) store_floats(sums + place.slot * slot + i, sum);
    }
    store_floats(sums + i, sum);
  });
}

template <class Index>
__global__ void gradients_keep_vectorized(Index vectors, Index count, std::int64_t rows,
                                          const float* __restrict__ gradients,
                                          const step::StepControl* __restrict__ control,
                                          float* __restrict__ kept) {
  const std::int64_t row = control->micro_batch % rows * count;
  const bool aligned = row % kWidth == 0;
  kept += row;
  for_each_vector<kWidth>(vectors, count, [=](Index i, auto width) {
    constexpr int kElements = decltype(width)::value;
    float gradient[kElements];
    load_floats(gradients + i, gradient);
    if (aligned) {
      store_floats(kept + i, gradient);
    } else {
      for (int k = 0; k < kElements; ++k) kept[i + k] = gradient[k];
    }
  });
}

/// One block a slice. `Width` is that of a vector or 1.
template <int Width>
__global__ void __launch_bounds__(kSliceThreads)
    gradients_norm_vectorized(std::int64_t count, std::int64_t length, const float* __restrict__ gradients,
                              step::StepControl* __restrict__ control, float* __restrict__ parts) {
  const Slice slice = slice_of_block<Width>(count, length);
  float sum[1] = {0.0f};
  bool finite = true;
  const auto add = [&](float gradient) {
    sum[0] += gradient * gradient;
    finite = finite && isfinite(gradient);
  };
#pragma unroll 2
  for (std::int64_t i = slice.begin + threadIdx.x * Width; i < slice.vectors_end;
       i += std::int64_t{kSliceThreads} * Width) {
    float values[Width];
    load_floats(gradients + i, values);
    for (const float value : values) add(value);
  }
  for (std::int64_t i = slice.vectors_end + threadIdx.x; i < slice.end; i += kSliceThreads) add(gradients[i]);
  block_sums(sum);
  const bool overflowed = __syncthreads_or(!finite) != 0;
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = sum[0];
  if (overflowed) control->overflow = 1;
}

void accumulate(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  const float* gradients = call.operand<const float>(Name::gradients);
  float* sums = call.operand<float>(Name::sums);
  const int shards = call.shape.shards;
  // Slots behind the first are aligned only if their length is a whole number of vectors.
  const bool aligned = aligned_16(gradients, sums) && (shards == 1 || count % kWidth == 0);
  const VectorCover covered = cover(count, kWidth, aligned);
  with_index(count, [&]<class Index>(Index) {
    const auto kernel = shards > 1 ? gradients_accumulate_vectorized<true, Index>
                                   : gradients_accumulate_vectorized<false, Index>;
    run_kernel(call, {covered.blocks}, kernel, covered.vectors, count, shards, count, gradients,
               Name::control, sums);
  });
}

void keep(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  const float* gradients = call.operand<const float>(Name::gradients);
  float* kept = call.operand<float>(Name::kept);
  const VectorCover covered = cover(count, kWidth, aligned_16(gradients, kept));
  with_index(count, [&]<class Index>(Index) {
    run_kernel(call, {covered.blocks}, gradients_keep_vectorized<Index>, covered.vectors, count,
               call.shape.batch, gradients, Name::control, kept);
  });
}

template <int Width>
void launch_norm(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  run_kernel(call, {kSumParts, kSliceThreads}, gradients_norm_vectorized<Width>, count, slice_length(count),
             Name::gradients, Name::control, Name::norm_parts);
}

void norm(const OpCall& call) {
  aligned_16(call.operand<const float>(Name::gradients)) ? launch_norm<kWidth>(call) : launch_norm<1>(call);
}

}  // namespace

Variant vectorized_accumulate() {
  return cuda_variant(Op::gradients_accumulate, "vectorized", accumulate,
                      "16 bytes at a time: four parameters a thread.");
}
Variant vectorized_keep() {
  return cuda_variant(Op::gradients_keep, "vectorized", keep,
                      "16 bytes at a time: four parameters a thread.");
}
Variant vectorized_norm() {
  return cuda_variant(Op::gradients_norm, "vectorized", norm,
                      "16 bytes at a time, more threads on each slice.");
}

}  // namespace warpscope::ops::optimizer
