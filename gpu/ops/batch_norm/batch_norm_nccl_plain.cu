// batch_norm.allreduce_moments and allreduce_sums, variant `nccl_plain`: over `host_mpi` it adds that NCCL moves the
// values from GPU to GPU, over the network too, in the step's graph. Limits: those of gradients.allreduce `nccl_plain`.
// Workspace: 4 bytes a channel. Source: batch_norm_ranks.cpp; moments_over_ranks.cuh; cuda_allreduce_nccl.cpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/ops/batch_norm/moments_over_ranks.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ranks/nccl.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::batch_norm {
namespace {

using ranks::NcclLink;

void nccl_moments(const OpCall& call) {
  moments_over_ranks(call, [&](float* values, std::int64_t count) {
    const NcclLink::Span span{values, static_cast<std::size_t>(count)};
    const ranks::Share& share = call.context->share;
    share.sums->nccl()->sum(&span, 1, share.weight, *call.stream, NcclLink::Room::any);
  });
}

void nccl_sums(const OpCall& call) {
  const ranks::Share& share = call.context->share;
  if (!share.sums) return;
  const auto count = static_cast<std::size_t>(call.shape.in_channels);
  const std::array spans{NcclLink::Span{call.operand<float>(Name::weights_gradient), count},
                         NcclLink::Span{call.operand<float>(Name::bias_gradient), count}};
  share.sums->nccl()->sum(spans.data(), spans.size(), share.weight, *call.stream, NcclLink::Room::any);
}

std::string refuses_unlinked(const OpShape& shape) {
  return shape.linked ? "" : "NCCL does not link these ranks as this step needs it";
}

Variant nccl_plain(Op op, void (*launch)(const OpCall&)) {
  Variant variant = cuda_variant(op, "nccl_plain", launch, "From GPU to GPU by NCCL.");
  variant.refuses = refuses_unlinked;
  return variant;
}

}  // namespace

Variant nccl_plain_allreduce_moments() {
  Variant variant = nccl_plain(Op::batch_norm_allreduce_moments, nccl_moments);
  variant.workspace_bytes = moments_workspace;
  return variant;
}
Variant nccl_plain_allreduce_sums() {
  return nccl_plain(Op::batch_norm_allreduce_sums, nccl_sums);
}

}  // namespace warpscope::ops::batch_norm
