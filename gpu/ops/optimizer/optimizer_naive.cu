// optimizer.update, variant `naive`: the first rung on CUDA. One thread per parameter, which leaves the three
// squares of the statistics in the workspace; a second launch, one block a part, adds them up. Limits: none
// on the count. Bound by memory: 12 to 28 bytes a parameter as the rule has states, and 24 more for the
// squares. At most 44 registers, 176 bytes of shared memory, no spills; workspace: 12 bytes a parameter.
// Source: optimizer.cpp; rules.h.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/optimizer/update_block.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {
namespace {

template <UpdateRule R, class Index>
__global__ void optimizer_update_naive(Index count, const float* __restrict__ gradients,
                                       const step::StepControl* __restrict__ control,
                                       const float* __restrict__ norm_parts,
                                       const float* __restrict__ metrics, float* __restrict__ parameters,
                                       float* __restrict__ first_state, float* __restrict__ second_state,
                                       float* __restrict__ squares) {
  const Settings<float> settings = block_settings<R>(*control, norm_parts);
  const bool skipped = step::skips_update(*control, metrics[step::kLossMetric]);
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const float gradient = gradients[i] * settings.unscale;
    const float parameter = parameters[i];
    float change = 0.0f;
    if (!skipped) {
      const float first = kHasFirstState<R> ? first_state[i] : 0.0f;
      const float second = kHasSecondState<R> ? second_state[i] : 0.0f;
      const auto after = updated<R>(settings, clipped(settings, gradient), parameter, first, second);
      change = after.change;
      parameters[i] = after.parameter;
      if (kHasFirstState<R>) first_state[i] = after.first;
      if (kHasSecondState<R>) second_state[i] = after.second;
    }
    squares[step::kGradientStatistic * count + i] = gradient * gradient;
    squares[step::kUpdateStatistic * count + i] = change * change;
    squares[step::kParameterStatistic * count + i] = parameter * parameter;
  }
}

/// Block (part, statistic) adds the squares of its slice.
__global__ void optimizer_statistics_naive(std::int64_t count, std::int64_t length,
                                           const float* __restrict__ squares,
                                           float* __restrict__ statistics) {
  const std::int64_t begin = blockIdx.x * length;
  const std::int64_t end = begin + length < count ? begin + length : count;
  float sum[1] = {0.0f};
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kElementThreads) {
    sum[0] += squares[blockIdx.y * count + i];
  }
  block_sums(sum);
  if (threadIdx.x == 0) statistics[blockIdx.y * kSumParts + blockIdx.x] = sum[0];
}

std::size_t workspace(const OpShape& s, core::Precision) {
  return step::kStatistics * static_cast<std::size_t>(s.count) * sizeof(float);
}

void update(const OpCall& call) {
  const std::int64_t count = call.shape.count;
  auto* squares = static_cast<float*>(call.workspace);
  with_rule(call.shape.rule, [&](auto rule) {
    with_index(step::kStatistics * count, [&]<class Index>(Index) {
      run_elements(call, count, optimizer_update_naive<decltype(rule)::value, Index>, count, Name::gradients,
                   Name::control, Name::norm_parts, Name::metrics, Name::parameters, Name::first_state,
                   Name::second_state, squares);
    });
  });
  run_kernel(call, "statistics", {dim3(kSumParts, step::kStatistics)}, optimizer_statistics_naive, count,
             slice_length(count), squares, Name::statistics);
}

}  // namespace

Variant naive_update() {
  return cuda_variant(Op::optimizer_update, "naive", update,
                      "One thread per parameter, 4 bytes at a time; statistics in a second launch.",
                      {.presets = {{"naive"}, {"atomic"}, {"atomic_free"}}, .workspace_bytes = workspace});
}

}  // namespace warpscope::ops::optimizer
