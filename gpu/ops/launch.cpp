#include "gpu/ops/launch.h"

#include <optional>

#include "gpu/core/subnormals.h"

namespace warpscope::ops {
namespace {

/// The threads of a library's pool begin as the thread is that needs them first, which may be in a preparation.
class Mode {
 public:
  explicit Mode(const OpCall& call) {
    const bool cpu = call.variant->device == core::DeviceKind::cpu;
    if (cpu && call.precision != core::Precision::fp64) zeros_.emplace();
  }

 private:
  std::optional<core::SubnormalsAsZeros> zeros_;
};

}  // namespace

std::unique_ptr<Prepared> prepare(const OpCall& call) {
  if (!call.variant->prepare) return nullptr;
  const Mode mode(call);
  return call.variant->prepare(call);
}

void launch(const OpCall& call) {
  const Mode mode(call);
  call.variant->launch(call);
}

}  // namespace warpscope::ops
