// bias.forward, variant `loops`: pixel by pixel, summed in FP32, the channels innermost. Over `reference` it
// adds that no index is divided, so that the inner loop is a plain vector sum. Limits: none on the shape; one
// thread. Source: bias.cpp.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::bias {
namespace {

template <class T>
void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* b = call.operand<const T>(Name::bias);
  T* y = call.operand<T>(Name::output);
  const std::int64_t pixels = s.batch * s.height * s.width;
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int c = 0; c < s.in_channels; ++c) y[c] = from_float<T>(to_float(x[c]) + to_float(b[c]));
    x += s.in_channels;
    y += s.in_channels;
  }
}

}  // namespace

Variant loops_forward() {
  return loops_variant(Op::bias_forward, by_storage<launch<float>, launch<BFloat16>>,
                       "A loop over the pixels on one thread.");
}

}  // namespace warpscope::ops::bias
