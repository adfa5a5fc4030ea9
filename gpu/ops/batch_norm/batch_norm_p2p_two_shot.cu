// batch_norm.allreduce_moments and allreduce_sums, variant `p2p_two_shot`: over `host_mpi` it adds that the values stay on
// the GPUs, by the kernel of gradients.allreduce of that name; means first, then squares of distances from the mean of
// all. Limits: those of that kernel. Workspace: 4 bytes a channel. Source: batch_norm_ranks.cpp; merge_ranks.h;
// allreduce_p2p_two_shot.cu.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/ops/allreduce/p2p_sum.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/normalization.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/p2p.h"

namespace warpscope::ops::batch_norm {
namespace {

/// The rank's own means are `own`, those of all `means`.
__global__ void batch_norm_spread_p2p(int channels, const float* __restrict__ own,
                                      const float* __restrict__ means, float* __restrict__ variances) {
  for (int c = first_element<int>(); c < channels; c += element_stride<int>()) {
    const float distance = own[c] - means[c];
    variances[c] += distance * distance;
  }
}

__global__ void batch_norm_statistics_p2p(int channels, const float* __restrict__ moments,
                                          float* __restrict__ statistics) {
  for (int c = first_element<int>(); c < channels; c += element_stride<int>()) {
    statistics[c] = moments[c];
    statistics[channels + c] = reciprocal_deviation(moments[channels + c]);
  }
}

void allreduce_moments(const OpCall& call) {
  const int channels = call.shape.in_channels;
  auto* means = call.operand<float>(Name::moments);
  if (call.context->share.sums) {
    const auto* own = static_cast<const float*>(call.workspace);
    call.stream->copy(call.workspace, means, static_cast<std::size_t>(channels) * sizeof(float));
    allreduce::p2p_sum(call, means, channels);
    run_kernel(call, "spread", {element_blocks(channels)}, batch_norm_spread_p2p, channels, own, means,
               means + channels);
    allreduce::p2p_sum(call, means + channels, channels);
  }
  run_kernel(call, "statistics", {element_blocks(channels)}, batch_norm_statistics_p2p, channels, means,
             Name::statistics);
}

void allreduce_sums(const OpCall& call) {
  if (!call.context->share.sums) return;
  for (const Name name : {Name::weights_gradient, Name::bias_gradient}) {
    allreduce::p2p_sum(call, call.operand<float>(name), call.shape.in_channels);
  }
}

std::size_t moments_workspace(const OpShape& s, core::Precision) {
  return static_cast<std::size_t>(s.in_channels) * sizeof(float);
}

std::string refuses(const OpShape& shape) {
  if (shape.in_channels > ranks::kP2pFloats / 2) return "more channels than fit a window";
  return shape.peers ? "" : "these ranks do not reach each other's memory";
}

Variant p2p_two_shot(Op op, void (*launch)(const OpCall&)) {
  Variant variant = cuda_variant(op, "p2p_two_shot", launch,
                                 "From GPU to GPU by the kernel of gradients.allreduce, in one fixed order.");
  variant.refuses = refuses;
  return variant;
}

}  // namespace

Variant p2p_two_shot_allreduce_moments() {
  Variant variant = p2p_two_shot(Op::batch_norm_allreduce_moments, allreduce_moments);
  variant.workspace_bytes = moments_workspace;
  return variant;
}
Variant p2p_two_shot_allreduce_sums() {
  return p2p_two_shot(Op::batch_norm_allreduce_sums, allreduce_sums);
}

}  // namespace warpscope::ops::batch_norm
