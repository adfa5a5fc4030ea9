// embedding, variant `loops`: forward copies rows, backward_weights adds each row of dy to that of its character, in
// FP32. Limits: none on the shape; one thread. Source: embedding.cpp.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/embedding/embedding.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::embedding {
namespace {

int rows_but_0(const OpShape& s) {
  return static_cast<int>(s.count) - 1;
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* w = call.operand<const T>(Name::weights);
  T* y = call.operand<T>(Name::output);
  const std::int64_t pixels = sizes::pixels(s);
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::int64_t row = symbol_of(to_float(x[i]), rows_but_0(s));
    y = std::copy_n(w + row * s.out_channels, s.out_channels, y);
  }
}

template <class T>
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  float* dw = call.operand<float>(Name::weights_gradient);
  std::fill_n(dw, table(s), 0.0f);
  const std::int64_t pixels = sizes::pixels(s);
  for (std::int64_t i = 0; i < pixels; ++i, dy += s.out_channels) {
    float* const row = dw + std::int64_t{symbol_of(to_float(x[i]), rows_but_0(s))} * s.out_channels;
    for (int d = 0; d < s.out_channels; ++d) row[d] += to_float(dy[d]);
  }
}

}  // namespace

Variant loops_forward() {
  return loops_variant(Op::embedding_forward, by_storage<forward<float>, forward<BFloat16>>,
                       "A loop over all characters that copies rows, on one thread.");
}
Variant loops_backward_weights() {
  return loops_variant(Op::embedding_backward_weights,
                       by_storage<backward_weights<float>, backward_weights<BFloat16>>,
                       "A loop over all characters that adds rows, on one thread.");
}

}  // namespace warpscope::ops::embedding
