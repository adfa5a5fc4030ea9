// gradients.allreduce, variant `nccl_plain`: one call of NCCL after the backward pass, as most write it first: over
// NVLink, PCIe or the network. `nccl` over it: in buckets while the backward pass makes the next, by few blocks. Both
// are in the step's graph. No buffer is registered with NCCL: in a graph it registers memory of its own allocator by
// itself, and that of cudaMalloc only where NCCL_LEGACY_CUDA_REGISTER=1 asks for it. Limits: each rank has a GPU of its
// own; the order of sums of more than two ranks is NCCL's, and depends on the buckets. Source: allreduce.cpp; NCCL's
// documentation, ncclAllReduce, ncclRedOpCreatePreMulSum and ncclConfig_t::maxCTAs.

#include <array>
#include <cstddef>
#include <string>

#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/nccl.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::allreduce {
namespace {

/// A call of NCCL costs some microseconds however little it sums.
constexpr std::int64_t kLeastPiece = 64 << 10;

void sum(const OpCall& call, ranks::NcclLink::Room room) {
  const ranks::Share& share = call.context->share;
  if (!share.sums) return;
  const auto span = [&](Name name, std::int64_t count) {
    return ranks::NcclLink::Span{call.operand<float>(name), static_cast<std::size_t>(count)};
  };
  const std::array spans{span(Name::gradients, call.shape.count), span(Name::metrics, step::kMetrics),
                         span(Name::running, call.shape.in_channels)};
  const std::size_t count = call.early ? 1 : spans.size();
  share.sums->nccl()->sum(spans.data(), count, share.weight, *call.stream, room);
}

void after_the_pass(const OpCall& call) {
  sum(call, ranks::NcclLink::Room::any);
}

void beside_the_pass(const OpCall& call) {
  sum(call, ranks::NcclLink::Room::little);
}

std::string refuses(const OpShape& shape) {
  return shape.linked ? "" : "NCCL does not link these ranks as this step needs it";
}

}  // namespace

Variant nccl_plain_gradients() {
  Variant variant = cuda_variant(Op::gradients_allreduce, "nccl_plain", after_the_pass,
                                 "From GPU to GPU by NCCL, in one call after the backward pass.");
  variant.refuses = refuses;
  return variant;
}

Variant nccl_gradients() {
  Variant variant = cuda_variant(Op::gradients_allreduce, "nccl", beside_the_pass,
                                 "By NCCL in buckets, each as soon as it is there, while the backward pass "
                                 "makes the next.");
  variant.refuses = refuses;
  variant.least_piece = kLeastPiece;
  return variant;
}

}  // namespace warpscope::ops::allreduce
