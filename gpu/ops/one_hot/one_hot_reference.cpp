// one_hot, variant `reference`: the definition channel by channel. Limits: none. Source: one_hot.cpp.

#include <cmath>
#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::one_hot {
namespace {

template <class T>
void forward(const OpCall& call) {
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  const std::int64_t pixels = sizes::pixels(call.shape);
  for (std::int64_t i = 0; i < pixels; ++i) {
    const double byte = std::round(255.0 * double{x[i]});
    for (int c = 0; c < call.shape.out_channels; ++c) *y++ = byte == c + 1.0 ? T{1} : T{0};
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::one_hot_forward, in_either_width<forward<float>, forward<double>>,
                           "The definition channel by channel: what the others are held against.");
}

}  // namespace warpscope::ops::one_hot
