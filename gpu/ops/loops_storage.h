#pragma once
// What the `loops` variants share: the precisions they store activations and weights in, and the choice
// between the two instances of a loop. In FP32 to_float and from_float are nothing, and the loops what they
// would be without them.

#include <array>
#include <stdexcept>
#include <vector>

#include "gpu/ops/bfloat16.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops {

/// For Variant::precisions.
inline std::vector<core::Precision> loops_precisions() {
  return {core::Precision::fp32, core::Precision::bf16};
}

/// A Variant::launch from a loop written for either storage: by_storage<run<float>, run<BFloat16>>. The call
/// is indirect on purpose: two loops inlined into one function would share its registers, and the FP32 one
/// lose some.
template <void (*InFloat)(const OpCall&), void (*InBFloat16)(const OpCall&)>
void by_storage(const OpCall& call) {
  static constexpr std::array<void (*)(const OpCall&), 2> kLoops{InFloat, InBFloat16};
  const bool narrow = call.precision == core::Precision::bf16;
  if (!narrow && call.precision != core::Precision::fp32) {
    throw std::logic_error("loops run in fp32 and bf16");
  }
  kLoops[narrow ? 1 : 0](call);
}

}  // namespace warpscope::ops
