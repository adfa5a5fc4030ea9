// embedding, variant `reference`: the definitions, sums in double. Limits: none. Source: embedding.cpp.

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/ops/embedding/embedding.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::embedding {
namespace {

template <class T>
std::int64_t row_of(T x, const OpShape& shape) {
  const double byte = std::round(255.0 * double{x});
  return byte >= 1.0 && byte < static_cast<double>(shape.count) ? static_cast<std::int64_t>(byte) : 0;
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* w = call.operand<const T>(Name::weights);
  T* y = call.operand<T>(Name::output);
  for (std::int64_t i = 0; i < sizes::pixels(s); ++i) {
    for (int d = 0; d < s.out_channels; ++d) *y++ = w[row_of(x[i], s) * s.out_channels + d];
  }
}

template <class T>
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dw = call.operand<T>(Name::weights_gradient);
  std::vector<double> sums(static_cast<std::size_t>(table(s)));
  for (std::int64_t i = 0; i < sizes::pixels(s); ++i) {
    for (int d = 0; d < s.out_channels; ++d) {
      sums[static_cast<std::size_t>(row_of(x[i], s) * s.out_channels + d)] += double{*dy++};
    }
  }
  for (const double sum : sums) *dw++ = static_cast<T>(sum);
}

constexpr const char* kSummary = "The definition, summed in double: what the others are held against.";

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::embedding_forward, in_either_width<forward<float>, forward<double>>, kSummary);
}
Variant reference_backward_weights() {
  return reference_variant(Op::embedding_backward_weights,
                           in_either_width<backward_weights<float>, backward_weights<double>>, kSummary);
}

}  // namespace warpscope::ops::embedding
