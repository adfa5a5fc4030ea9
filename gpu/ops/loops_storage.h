#pragma once
// What the `loops` variants share: the choice between the two instances of a loop, by what activations and weights are
// stored in. In FP32 to_float and from_float are nothing, and the loops what they
// would be without them.

#include <array>
#include <stdexcept>

#include "gpu/ops/bfloat16.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops {

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

/// The variant `loops` of `op`.
inline Variant loops_variant(Op op, void (*launch)(const OpCall&), const char* summary) {
  return {.op = op, .name = "loops", .presets = {{"loops"}}, .summary = summary, .launch = launch};
}

}  // namespace warpscope::ops
