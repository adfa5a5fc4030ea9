// one_hot, variant `loops`: zeros first, then a 1 for each character. Limits: none on the shape; one thread. Source:
// one_hot.cpp.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::one_hot {
namespace {

template <class T>
void forward(const OpCall& call) {
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  const std::int64_t pixels = sizes::pixels(call.shape);
  const int channels = call.shape.out_channels;
  std::fill_n(y, pixels * channels, from_float<T>(0.0f));
  for (std::int64_t i = 0; i < pixels; ++i, y += channels) {
    if (const int symbol = symbol_of(to_float(x[i]), channels); symbol > 0)
      y[symbol - 1] = from_float<T>(1.0f);
  }
}

}  // namespace

Variant loops_forward() {
  return loops_variant(Op::one_hot_forward, by_storage<forward<float>, forward<BFloat16>>,
                       "Zeros, then a 1 for each character, on one thread.");
}

}  // namespace warpscope::ops::one_hot
