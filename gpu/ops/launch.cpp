#include "gpu/ops/launch.h"

#include <optional>

#include "gpu/core/subnormals.h"

namespace warpscope::ops {
namespace {

/// The threads of a library's pool begin as the thread is that needs them first, which may be in a preparation.
class Mode {
 public:
  Mode(const Variant& variant, core::Precision precision) {
    if (variant.device == core::DeviceKind::cpu && precision != core::Precision::fp64) zeros_.emplace();
  }

 private:
  std::optional<core::SubnormalsAsZeros> zeros_;
};

}  // namespace

std::unique_ptr<Prepared> prepare(const Variant& variant, const OpShape& shape, core::Precision precision,
                                  core::Device& device) {
  if (variant.prepare == nullptr) return nullptr;
  const Mode mode(variant, precision);
  return variant.prepare(shape, precision, device);
}

void launch(const Variant& variant, const OpCall& call) {
  const Mode mode(variant, call.precision);
  variant.launch(call);
}

}  // namespace warpscope::ops
