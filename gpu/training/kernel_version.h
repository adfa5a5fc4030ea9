#pragma once
// What is told of a version of a user's kernel.

#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/user_kernels.h"
#include "gpu/user_kernels/kernels.h"

namespace warpscope::training {

/// A call of the training's step.
struct KernelCall {
  ops::Op op{};
  std::string layer;
  ops::OpShape shape;
};

/// Without number, stage and times.
KernelVersion version_of(const user_kernels::Kernel& kernel);

/// The shapes of calls of `task` among `calls`, which stand as a step makes them: each once, with its layers, the most
/// expensive first, no more than some. A chain is where its ops follow one another.
std::vector<KernelShapeTimes> shapes_of(const user_kernels::Task& task, const std::vector<KernelCall>& calls);

/// `shapes` with what was measured on them, the fastest first; the kernel's own times are those of `variant`.
void add_times(std::vector<KernelShapeTimes>& shapes, const user_kernels::Times& times,
               const std::string& variant, int version);

/// What a GPU's build told while it was timed; nothing of the CPU.
std::optional<GpuBuild> build_of(const user_kernels::Times& times);

}  // namespace warpscope::training
