// weights.cast and images.widen, variant `reference`: in FP32 and FP64 all operands have one type, so both
// are copies. Limits: none. Source: cast.h.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/cast/cast.h"
#include "gpu/ops/cast/cast_variants.h"

namespace warpscope::ops::cast {
namespace {

template <class T>
void weights(const OpCall& call) {
  std::copy_n(call.operand<const T>(kWeightsParameters), call.shape.count, call.operand<T>(kWeightsOutput));
}

template <class T>
void widen(const OpCall& call) {
  const OpShape& s = call.shape;
  std::copy_n(call.operand<const T>(kWidenInput), s.batch * s.height * s.width * s.in_channels,
              call.operand<T>(kWidenOutput));
}

template <auto Fp32, auto Fp64>
void launch(const OpCall& call) {
  call.precision == core::Precision::fp64 ? Fp64(call) : Fp32(call);
}

Variant reference(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "A copy: what the others are held against.",
          .launch = run};
}

}  // namespace

Variant reference_weights() {
  return reference(Op::weights_cast, launch<weights<float>, weights<double>>);
}
Variant reference_widen() {
  return reference(Op::images_widen, launch<widen<float>, widen<double>>);
}

}  // namespace warpscope::ops::cast
