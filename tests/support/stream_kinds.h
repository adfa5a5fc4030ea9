#pragma once
// The kinds of streams that work which must not disturb a training is tried on: the CPU's, which do everything at
// once, one that runs behind the host, and a GPU's. With selections that each of them can run.

#include <memory>
#include <string>

#include "gpu/core/device.h"
#include "gpu/plan/selection.h"
#include "tests/support/async_device.h"
#include "tests/support/plan_memory.h"

namespace warpscope::tests {

enum class Streams { at_once, behind, cuda };
inline constexpr Streams kAllStreams[] = {Streams::at_once, Streams::behind, Streams::cuda};

inline std::string name_of(Streams streams) {
  return streams == Streams::at_once ? "at_once" : streams == Streams::behind ? "behind" : "cuda";
}

/// nullptr where there is no GPU: tests skip then.
inline std::shared_ptr<core::Device> device_of(Streams streams) {
  if (streams == Streams::behind) return std::make_shared<AsyncDevice>();
  if (streams == Streams::at_once) return core::open_device("cpu");
  if (!core::cuda_unavailable_reason().empty()) return nullptr;
  auto device = core::open_device("cuda");
  device->make_current();
  return device;
}

/// What a test trains with, and something else that computes the same. Both give the same bits every time.
inline plan::Selection plain_selection(Streams streams) {
  if (streams != Streams::cuda) return all_of("loops");
  plan::Selection selection;
  plan::apply(selection, "preset=naive", core::open_device("cuda")->info());
  return selection;
}
inline plan::Selection other_selection(Streams streams) {
  if (streams != Streams::cuda) return all_of("reference");
  plan::Selection selection;
  plan::apply(selection, "preset=implicit_gemm", core::open_device("cuda")->info());
  return selection;
}

}  // namespace warpscope::tests
