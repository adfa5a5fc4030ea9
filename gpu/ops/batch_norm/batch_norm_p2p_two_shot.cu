// batch_norm.allreduce_moments and allreduce_sums, variant `p2p_two_shot`: over `host_mpi` it adds that the values stay
// on the GPUs, by the kernel of gradients.allreduce of that name; means first, then squares of distances from the mean
// of all. Limits: those of that kernel. Workspace: 4 bytes a channel. Source: batch_norm_ranks.cpp; merge_ranks.h;
// moments_over_ranks.cuh; allreduce_p2p_two_shot.cu.

#include <cstdint>
#include <string>

#include "gpu/ops/allreduce/p2p_sum.h"
#include "gpu/ops/batch_norm/moments_over_ranks.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ranks/p2p.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::batch_norm {
namespace {

void allreduce_moments(const OpCall& call) {
  moments_over_ranks(call,
                     [&](float* values, std::int64_t count) { allreduce::p2p_sum(call, values, count); });
}

void allreduce_sums(const OpCall& call) {
  if (!call.context->share.sums) return;
  for (const Name name : {Name::weights_gradient, Name::bias_gradient}) {
    allreduce::p2p_sum(call, call.operand<float>(name), call.shape.in_channels);
  }
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
