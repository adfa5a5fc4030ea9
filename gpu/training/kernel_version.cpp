#include "gpu/training/kernel_version.h"

#include <algorithm>
#include <functional>
#include <span>

#include "gpu/files/sha256.h"
#include "gpu/files/text.h"
#include "gpu/ops/cost.h"

namespace warpscope::training {
namespace {

constexpr std::size_t kMostTimedShapes = 4;

/// Whether the ops of `task` follow one another from the first of `calls` on.
bool begins_with(std::span<const KernelCall> calls, const user_kernels::Task& task) {
  if (task.chain.empty()) return calls.front().op == task.op;
  return calls.size() >= task.chain.size() &&
         std::ranges::equal(task.chain, calls.first(task.chain.size()), {}, &ops::Link::op, &KernelCall::op);
}

KernelShapeTimes call_of(const ops::Variant& form, const ops::OpShape& shape) {
  const ops::Work work = ops::contract(form.op).work;
  KernelShapeTimes call;
  call.shape = shape;
  call.flops = ops::formula_flops(form, shape).of(work);
  call.least_flops = ops::fewest_flops(form, shape).of(work);
  call.bytes = ops::minimum_bytes(form, shape, core::Precision::fp32);
  return call;
}

/// What tells which of the calls of a task takes longest: what it computes and what it moves.
double cost_of(const KernelShapeTimes& call) {
  return call.flops + call.bytes / sizeof(float);
}

}  // namespace

KernelVersion version_of(const user_kernels::Kernel& kernel) {
  KernelVersion version;
  files::Sha256 sum;
  sum.update(kernel.source.text.data(), kernel.source.text.size());
  version.sha256 = sum.finish();
  version.errors = kernel.compiled.errors;
  version.cached = kernel.compiled.cached;
  version.compile_milliseconds = kernel.compiled.milliseconds;
  version.sentence =
      files::sayable(kernel.usable() ? kernel.verdict.sentence : user_kernels::refusal(kernel));
  version.proof_milliseconds = kernel.verdict.milliseconds;
  version.calls = kernel.verdict.calls;
  version.worst_error = kernel.verdict.worst_error;
  version.tolerance = kernel.verdict.tolerance;
  return version;
}

std::vector<KernelShapeTimes> shapes_of(const user_kernels::Task& task,
                                        const std::vector<KernelCall>& calls) {
  const ops::Variant form = task.form();
  std::vector<KernelShapeTimes> shapes;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const KernelCall& call = calls[i];
    if (!begins_with(std::span(calls).subspan(i), task)) continue;
    const ops::OpShape shape = task.call_of(ops::by_itself(call.shape));
    auto known = std::ranges::find(shapes, shape, &KernelShapeTimes::shape);
    if (known == shapes.end()) known = shapes.insert(shapes.end(), call_of(form, shape));
    if (!call.layer.empty()) known->layers.push_back(call.layer);
  }
  std::ranges::stable_sort(shapes, std::greater<>(), cost_of);
  shapes.resize(std::min(shapes.size(), kMostTimedShapes));
  return shapes;
}

void add_times(std::vector<KernelShapeTimes>& shapes, const user_kernels::Times& times,
               const std::string& variant, int version) {
  for (const user_kernels::TimedCall& call : times.calls) {
    if (call.shape >= shapes.size()) continue;
    const bool own = call.variant.empty();
    shapes[call.shape].times.push_back(
        {own ? variant : call.variant,
         own ? version : call.version,
         {call.median, call.middle, static_cast<std::uint64_t>(std::max(0, call.samples))}});
  }
  for (KernelShapeTimes& each : shapes) {
    std::ranges::stable_sort(each.times, {}, [](const KernelTime& time) { return time.microseconds.median; });
  }
}

std::optional<GpuBuild> build_of(const user_kernels::Times& times) {
  for (const user_kernels::TimedCall& call : times.calls) {
    if (!call.variant.empty() || call.registers == 0) continue;
    GpuBuild build;
    build.registers = call.registers;
    build.shared_bytes = call.shared_bytes;
    build.occupancy = call.occupancy;
    return build;
  }
  return std::nullopt;
}

}  // namespace warpscope::training
