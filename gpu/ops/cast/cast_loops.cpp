// weights.cast and images.widen, variant `loops`: one loop that converts; in FP32 both are copies. Limits:
// one thread. Source: cast.cpp.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cast {
namespace {

template <class T>
void weights(const OpCall& call) {
  const float* from = call.operand<const float>(Name::parameters);
  T* to = call.operand<T>(Name::weights);
  for (std::int64_t i = 0; i < call.shape.count; ++i) to[i] = from_float<T>(from[i]);
}

template <class T>
void widen(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t elements = s.batch * s.height * s.width * s.in_channels;
  const T* from = call.operand<const T>(Name::input);
  float* to = call.operand<float>(Name::output);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = to_float(from[i]);
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return loops_variant(op, run, "A loop over all elements on one thread.");
}

}  // namespace

Variant loops_weights() {
  return loops(Op::weights_cast, by_storage<weights<float>, weights<BFloat16>>);
}
Variant loops_widen() {
  return loops(Op::images_widen, by_storage<widen<float>, widen<BFloat16>>);
}

}  // namespace warpscope::ops::cast
