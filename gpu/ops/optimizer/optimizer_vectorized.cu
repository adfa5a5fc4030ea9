// optimizer.update, variant `vectorized`: over `naive` it adds 16-byte accesses and one launch for all. A
// block takes a slice: it reads its first vectors while the settings are made, the next ones while it
// computes, and ends with the sums of its statistics, by a tree in an order that only count fixes. Limits:
// none on the count; what is left over after the last whole vector, and memory that is not aligned to 16
// bytes, goes element by element. Bound by memory: 12 (sgd) to 28 (adam, adamw) bytes a parameter. At most 64
// registers, 560 bytes of shared memory, no spills. Source: optimizer.cpp; rules.h; block_sum.cuh.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/optimizer/slice.cuh"
#include "gpu/ops/optimizer/update_block.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::optimizer {
namespace {

struct Buffers {
  const float* gradients;
  float* parameters;
  float* first_state;
  float* second_state;
};

/// `Width` elements of each buffer that the rule has.
template <UpdateRule R, int Width>
struct Elements {
  float gradient[Width];
  float parameter[Width];
  float first[Width];
  float second[Width];

  __device__ __forceinline__ void load(const Buffers& buffers, std::int64_t i) {
    load_floats(buffers.gradients + i, gradient);
    load_floats(buffers.parameters + i, parameter);
    if constexpr (kHasFirstState<R>) load_floats(buffers.first_state + i, first);
    if constexpr (kHasSecondState<R>) load_floats(buffers.second_state + i, second);
  }

  __device__ __forceinline__ void store(const Buffers& buffers, std::int64_t i) const {
    store_floats(buffers.parameters + i, parameter);
    if constexpr (kHasFirstState<R>) store_floats(buffers.first_state + i, first);
    if constexpr (kHasSecondState<R>) store_floats(buffers.second_state + i, second);
  }

  /// Adds the squares to `sums`; updates unless `skipped`.
  __device__ __forceinline__ void advance(const Settings<float>& settings, bool skipped,
                                          float (&sums)[step::kStatistics]) {
#pragma unroll
    for (int k = 0; k < Width; ++k) {
      const float g = gradient[k] * settings.unscale;
      sums[step::kGradientStatistic] += g * g;
      sums[step::kParameterStatistic] += parameter[k] * parameter[k];
      if (skipped) continue;
      const float before = kHasFirstState<R> ? first[k] : 0.0f;
      const float second_before = kHasSecondState<R> ? second[k] : 0.0f;
      const auto after = updated<R>(settings, clipped(settings, g), parameter[k], before, second_before);
      sums[step::kUpdateStatistic] += after.change * after.change;
      parameter[k] = after.parameter;
      first[k] = after.first;
      second[k] = after.second;
    }
  }
};

/// One block a slice. `Width` is that of a vector or 1.
template <UpdateRule R, int Width>
__global__ void __launch_bounds__(kSliceThreads, 2)
    optimizer_update_vectorized(std::int64_t count, std::int64_t length, const Buffers buffers,
                                const step::StepControl* __restrict__ control,
                                const float* __restrict__ norm_parts, const float* __restrict__ metrics,
                                float* __restrict__ statistics) {
  const Slice slice = slice_of_block<Width>(count, length);
  constexpr std::int64_t kStride = std::int64_t{kSliceThreads} * Width;
  std::int64_t i = slice.begin + threadIdx.x * Width;
  Elements<R, Width> now;
  if (i < slice.vectors_end) now.load(buffers, i);
  const bool skipped = step::skips_update(*control, metrics[step::kLossMetric]);
  const Settings<float> settings = block_settings<R>(*control, norm_parts);
  float sums[step::kStatistics] = {};
  while (i < slice.vectors_end) {
    Elements<R, Width> next;
    if (i + kStride < slice.vectors_end) next.load(buffers, i + kStride);
    now.advance(settings, skipped, sums);
    if (!skipped) now.store(buffers, i);
    now = next;
    i += kStride;
  }
  for (i = slice.vectors_end + threadIdx.x; i < slice.end; i += kSliceThreads) {
    Elements<R, 1> one;
    one.load(buffers, i);
    one.advance(settings, skipped, sums);
    if (!skipped) one.store(buffers, i);
  }
  block_sums(sums);
  if (threadIdx.x < step::kStatistics) {
    statistics[threadIdx.x * kSumParts + blockIdx.x] = threadIdx.x == 0   ? sums[0]
                                                       : threadIdx.x == 1 ? sums[1]
                                                                          : sums[2];
  }
}

template <UpdateRule R, int Width>
void launch(const OpCall& call, const Buffers& buffers) {
  const std::int64_t count = call.shape.count;
  run_kernel(call, {kSumParts, kSliceThreads}, optimizer_update_vectorized<R, Width>, count,
             slice_length(count), buffers, Name::control, Name::norm_parts, Name::metrics, Name::statistics);
}

void update(const OpCall& call) {
  const int states = states_of(call.shape.rule);
  const Buffers buffers{call.operand<const float>(Name::gradients), call.operand<float>(Name::parameters),
                        states >= 1 ? call.operand<float>(Name::first_state) : nullptr,
                        states >= 2 ? call.operand<float>(Name::second_state) : nullptr};
  const bool aligned =
      aligned_16(buffers.gradients, buffers.parameters, buffers.first_state, buffers.second_state);
  with_rule(call.shape.rule, [&](auto rule) {
    constexpr UpdateRule kRule = decltype(rule)::value;
    aligned ? launch<kRule, kWide<float>>(call, buffers) : launch<kRule, 1>(call, buffers);
  });
}

}  // namespace

Variant vectorized_update() {
  return cuda_variant(Op::optimizer_update, "vectorized", update,
                      "16 bytes at a time, and one launch: a block sums up the statistics of its slice.");
}

}  // namespace warpscope::ops::optimizer
