// global_average_pool, variant `reference`: the formulas of global_average_pool.cpp, summed in double. Limits: none.
// Source: global_average_pool.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::global_average_pool {
namespace {

double pixels_of_one(const OpShape& s) {
  return static_cast<double>(s.height) * static_cast<double>(s.width);
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> x{call.operand<const T>(Name::input), s.height, s.width, s.in_channels};
  T* y = call.operand<T>(Name::output);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int c = 0; c < s.in_channels; ++c) {
      double sum = 0;
      for (int h = 0; h < s.height; ++h) {
        for (int w = 0; w < s.width; ++w) sum += double{x(n, h, w, c)};
      }
      *y++ = static_cast<T>(sum / pixels_of_one(s));
    }
  }
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  const View4<T> dx{call.operand<T>(Name::input_gradient), s.height, s.width, s.in_channels};
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        for (int c = 0; c < s.in_channels; ++c) {
          dx(n, h, w, c) = static_cast<T>(double{dy[n * s.in_channels + c]} / pixels_of_one(s));
        }
      }
    }
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::global_average_pool_forward, in_either_width<forward<float>, forward<double>>);
}
Variant reference_backward() {
  return reference_variant(Op::global_average_pool_backward,
                           in_either_width<backward<float>, backward<double>>,
                           "The formula element by element in double: what the others are held against.");
}

}  // namespace warpscope::ops::global_average_pool
