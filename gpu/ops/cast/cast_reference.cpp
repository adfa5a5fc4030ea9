// weights.cast and images.widen, variant `reference`: in FP32 and FP64 all operands have one type, so both
// are copies. Limits: none. Source: cast.cpp.

#include <algorithm>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cast {
namespace {

template <class T>
void weights(const OpCall& call) {
  std::copy_n(call.operand<const T>(Name::parameters), call.shape.count, call.operand<T>(Name::weights));
}

template <class T>
void widen(const OpCall& call) {
  const OpShape& s = call.shape;
  std::copy_n(call.operand<const T>(Name::input), s.batch * s.height * s.width * s.in_channels,
              call.operand<T>(Name::output));
}

constexpr const char* kSummary = "A copy: what the others are held against.";

}  // namespace

Variant reference_weights() {
  return reference_variant(Op::weights_cast, in_either_width<weights<float>, weights<double>>, kSummary);
}
Variant reference_widen() {
  return reference_variant(Op::images_widen, in_either_width<widen<float>, widen<double>>, kSummary);
}

}  // namespace warpscope::ops::cast
