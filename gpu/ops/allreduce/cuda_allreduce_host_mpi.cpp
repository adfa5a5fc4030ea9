// gradients.allreduce, variant `host_mpi`: the historic way. The values go to the host's memory, ranks add them there,
// by MPI where MPI started them, else in memory that they share, and they come back. It works wherever ranks can reach
// each other, two of them on one GPU included. Limits: none. Source: allreduce.cpp; allreduce_loops.cpp.

#include <cstddef>
#include <memory>

#include "gpu/core/cuda.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::allreduce {
namespace {

/// What the device copies to and from, and what the host adds there.
struct OnHost : Prepared {
  OnHost(const OpCall& call)
      : share(call.context->share),
        values(call.context->device,
               sizeof(float) *
                   static_cast<std::size_t>(call.shape.count + step::kMetrics + call.shape.in_channels)) {}

  static void add(void* self) {
    auto& on_host = *static_cast<OnHost*>(self);
    on_host.share.sums->add({on_host.values.as<float>(), on_host.values.bytes() / sizeof(float)},
                            on_host.share.weight, {ranks::Joint::gradients, "host_mpi"});
  }

  ranks::Share share;
  core::HostBuffer values;
};

std::unique_ptr<Prepared> prepare(const OpCall& call) {
  return call.context->share.sums ? std::make_unique<OnHost>(call) : nullptr;
}

/// Calls copy(device, host, bytes) with each operand and its place on the host.
template <class Copy>
void each_operand(const OpCall& call, OnHost& on_host, Copy copy) {
  auto* place = on_host.values.as<std::byte>();
  const auto next = [&](Name name, std::int64_t count) {
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(count);
    if (bytes > 0) copy(call.operands[name], place, bytes);
    place += bytes;
  };
  next(Name::gradients, call.shape.count);
  next(Name::metrics, step::kMetrics);
  next(Name::running, call.shape.in_channels);
}

void gradients(const OpCall& call) {
  if (!call.context->share.sums) return;
  auto& on_host = static_cast<OnHost&>(*call.prepared);
  each_operand(call, on_host,
               [&](void* device, void* host, std::size_t bytes) { call.stream->copy(host, device, bytes); });
  core::check_cuda(cudaLaunchHostFunc(core::cuda_stream(*call.stream), OnHost::add, &on_host),
                   "gradients.allreduce host_mpi");
  each_operand(call, on_host,
               [&](void* device, void* host, std::size_t bytes) { call.stream->copy(device, host, bytes); });
}

}  // namespace

Variant host_mpi_gradients() {
  Variant variant =
      cuda_variant(Op::gradients_allreduce, "host_mpi", gradients,
                   "The historic way: to the host's memory, added there as `loops` does, and back.");
  variant.prepare = prepare;
  return variant;
}

}  // namespace warpscope::ops::allreduce
