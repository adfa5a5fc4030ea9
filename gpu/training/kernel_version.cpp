#include "gpu/training/kernel_version.h"

#include <algorithm>
#include <functional>

#include "gpu/files/sha256.h"
#include "gpu/files/text.h"
#include "gpu/ops/cost.h"

namespace warpscope::training {
namespace {

constexpr std::size_t kMostTimedShapes = 4;

double work_of(ops::Op op, const ops::OpShape& shape) {
  double work = ops::contract(op).flops(shape);
  for (const ops::Operand& each : ops::contract(op).operands)
    work += static_cast<double>(each.elements(shape));
  return work;
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

std::vector<KernelShapeTimes> shapes_of(ops::Op op, const std::vector<KernelCall>& calls) {
  std::vector<KernelShapeTimes> shapes;
  for (const KernelCall& call : calls) {
    if (call.op != op) continue;
    const ops::OpShape shape = ops::by_itself(call.shape);
    auto known = std::ranges::find(shapes, shape, &KernelShapeTimes::shape);
    if (known == shapes.end()) known = shapes.insert(shapes.end(), KernelShapeTimes{shape, {}, {}});
    if (!call.layer.empty()) known->layers.push_back(call.layer);
  }
  std::ranges::stable_sort(shapes, std::greater<>(),
                           [op](const KernelShapeTimes& each) { return work_of(op, each.shape); });
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

void carry_on(user_kernels::LiveKernels& live, const UserKernels* before) {
  if (before == nullptr || !before->why_not.empty()) return;
  live.files.clear();
  live.folders.clear();
  for (const UserKernel& each : before->kernels) {
    const bool tried = std::ranges::any_of(
        live.tried, [&](const auto& one) { return one.kernel.source.file.string() == each.file; });
    if (!tried && each.folder.empty()) live.files.push_back({each.file, each.apply_when_proved});
  }
  for (const KernelFolder& each : before->folders)
    live.folders.push_back({each.path, each.apply_when_proved});
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
