#pragma once
// The moments of batch norms over all ranks on the GPU (batch_norm_ranks.cpp), whatever adds: what merge_moments() of
// merge_ranks.h is in the host's memory.

#include <cstddef>
#include <cstdint>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {

/// The rank's own means are `own`, those of all `means`.
template <class Index>
__global__ void batch_norm_spread(Index channels, const float* __restrict__ own,
                                  const float* __restrict__ means, float* __restrict__ variances) {
  for (Index c = first_element<Index>(); c < channels; c += element_stride<Index>()) {
    const float distance = own[c] - means[c];
    variances[c] += distance * distance;
  }
}

template <class Index>
__global__ void batch_norm_statistics(Index channels, const float* __restrict__ moments,
                                      float* __restrict__ statistics) {
  for (Index c = first_element<Index>(); c < channels; c += element_stride<Index>()) {
    statistics[c] = moments[c];
    statistics[channels + c] = reciprocal_deviation(moments[channels + c]);
  }
}

/// sum(values, count) enqueues values = sum over ranks of weight x values. Workspace: moments_workspace().
template <class Sum>
void moments_over_ranks(const OpCall& call, const Sum& sum) {
  const int channels = call.shape.in_channels;
  auto* means = call.operand<float>(Name::moments);
  if (call.context->share.sums) {
    const auto* own = static_cast<const float*>(call.workspace);
    call.stream->copy(call.workspace, means, static_cast<std::size_t>(channels) * sizeof(float));
    sum(means, channels);
    run_kernel(call, "spread", {element_blocks(channels)}, batch_norm_spread<int>, channels, own, means,
               means + channels);
    sum(means + channels, channels);
  }
  run_kernel(call, "statistics", {element_blocks(channels)}, batch_norm_statistics<int>, channels, means,
             Name::statistics);
}

/// The rank's own means.
inline std::size_t moments_workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(s.in_channels) * sizeof(float);
}

}  // namespace warpscope::ops::batch_norm
