// batch_norm.allreduce_moments and allreduce_sums, variant `host_mpi`: as that of gradients.allreduce, the values go to
// the host's memory, ranks add them there, and they come back. Limits: none; each call waits for the host. Source:
// batch_norm_ranks.cpp; merge_ranks.h.

#include <cstddef>
#include <memory>
#include <span>

#include "gpu/core/cuda.h"
#include "gpu/ops/batch_norm/merge_ranks.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::batch_norm {
namespace {

/// What the device copies to and from, and what the host adds there: `rows` values a channel.
struct OnHost : Prepared {
  OnHost(const OpCall& call, std::size_t rows)
      : share(call.context->share),
        channels(static_cast<std::size_t>(call.shape.in_channels)),
        values(call.context->device, sizeof(float) * rows * channels) {}

  std::span<float> part(std::size_t first, std::size_t rows) const {
    return {values.as<float>() + first * channels, rows * channels};
  }

  ranks::Share share;
  std::size_t channels;
  core::HostBuffer values;
};

/// Moments, statistics, and room for the rank's own means.
constexpr std::size_t kMerged = 5;
constexpr std::size_t kSummed = 2;

std::unique_ptr<Prepared> prepare_moments(const OpCall& call) {
  return std::make_unique<OnHost>(call, kMerged);
}

std::unique_ptr<Prepared> prepare_sums(const OpCall& call) {
  return std::make_unique<OnHost>(call, kSummed);
}

void merge_there(void* self) {
  const auto& on_host = *static_cast<OnHost*>(self);
  merge_moments(on_host.share, on_host.part(0, 2), on_host.part(2, 2), on_host.part(4, 1), "host_mpi");
}

void add_there(void* self) {
  const auto& on_host = *static_cast<OnHost*>(self);
  on_host.share.sums->add(on_host.part(0, kSummed), on_host.share.weight,
                          {ranks::Joint::moments_gradient, "host_mpi"});
}

void allreduce_moments(const OpCall& call) {
  auto& on_host = static_cast<OnHost&>(*call.prepared);
  const std::span moments = on_host.part(0, 2);
  const std::span statistics = on_host.part(2, 2);
  call.stream->copy(moments.data(), call.operands[Name::moments], moments.size_bytes());
  core::check_cuda(cudaLaunchHostFunc(core::cuda_stream(*call.stream), merge_there, &on_host),
                   "batch_norm.allreduce_moments host_mpi");
  call.stream->copy(call.operands[Name::moments], moments.data(), moments.size_bytes());
  call.stream->copy(call.operands[Name::statistics], statistics.data(), statistics.size_bytes());
}

void allreduce_sums(const OpCall& call) {
  auto& on_host = static_cast<OnHost&>(*call.prepared);
  if (!on_host.share.sums) return;
  const std::span gamma = on_host.part(0, 1);
  const std::span beta = on_host.part(1, 1);
  call.stream->copy(gamma.data(), call.operands[Name::weights_gradient], gamma.size_bytes());
  call.stream->copy(beta.data(), call.operands[Name::bias_gradient], beta.size_bytes());
  core::check_cuda(cudaLaunchHostFunc(core::cuda_stream(*call.stream), add_there, &on_host),
                   "batch_norm.allreduce_sums host_mpi");
  call.stream->copy(call.operands[Name::weights_gradient], gamma.data(), gamma.size_bytes());
  call.stream->copy(call.operands[Name::bias_gradient], beta.data(), beta.size_bytes());
}

Variant host_mpi(Op op, void (*launch)(const OpCall&), std::unique_ptr<Prepared> (*prepare)(const OpCall&)) {
  Variant variant =
      cuda_variant(op, "host_mpi", launch,
                   "The historic way: to the host's memory, added there as `loops` does, and back.");
  variant.prepare = prepare;
  return variant;
}

}  // namespace

Variant host_mpi_allreduce_moments() {
  return host_mpi(Op::batch_norm_allreduce_moments, allreduce_moments, prepare_moments);
}
Variant host_mpi_allreduce_sums() {
  return host_mpi(Op::batch_norm_allreduce_sums, allreduce_sums, prepare_sums);
}

}  // namespace warpscope::ops::batch_norm
