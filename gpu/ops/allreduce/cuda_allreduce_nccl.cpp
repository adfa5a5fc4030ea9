// gradients.allreduce, variant `nccl_plain`: one call of NCCL after the backward pass, as most write it first: over
// NVLink, PCIe or the network. Limits: each rank has a GPU of its own; the order of sums of more than two ranks is
// NCCL's. Source: allreduce.cpp; NCCL's documentation, ncclAllReduce and ncclRedOpCreatePreMulSum.

#include <array>
#include <cstddef>
#include <string>

#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/nccl.h"

namespace warpscope::ops::allreduce {
namespace {

void gradients(const OpCall& call) {
  const ranks::Share& share = call.context->share;
  if (!share.sums) return;
  const auto span = [&](Name name, std::int64_t count) {
    return ranks::NcclLink::Span{call.operand<float>(name), static_cast<std::size_t>(count)};
  };
  const std::array spans{span(Name::gradients, call.shape.count), span(Name::metrics, step::kMetrics),
                         span(Name::running, call.shape.in_channels)};
  share.sums->nccl()->sum(spans.data(), spans.size(), share.weight, *call.stream);
}

std::string refuses(const OpShape& shape) {
  return shape.linked ? "" : "NCCL does not link these ranks as this step needs it";
}

}  // namespace

Variant nccl_plain_gradients() {
  Variant variant = cuda_variant(Op::gradients_allreduce, "nccl_plain", gradients,
                                 "From GPU to GPU by NCCL, in one call after the backward pass.");
  variant.refuses = refuses;
  return variant;
}

}  // namespace warpscope::ops::allreduce
