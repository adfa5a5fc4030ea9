// linear, variant `reference`: the formulas of linear.cpp, summed in double whatever the element type. Limits:
// none. Source: linear.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* w = call.operand<const T>(Name::weights);
  T* y = call.operand<T>(Name::output);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t o = 0; o < s.out_channels; ++o) {
      double sum = 0;
      for (std::int64_t i = 0; i < s.in_channels; ++i) {
        sum += double{x[n * s.in_channels + i]} * double{w[o * s.in_channels + i]};
      }
      y[n * s.out_channels + o] = static_cast<T>(sum);
    }
  }
}

template <class T>
void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  const T* w = call.operand<const T>(Name::weights);
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t i = 0; i < s.in_channels; ++i) {
      double sum = 0;
      for (std::int64_t o = 0; o < s.out_channels; ++o) {
        sum += double{dy[n * s.out_channels + o]} * double{w[o * s.in_channels + i]};
      }
      dx[n * s.in_channels + i] = static_cast<T>(sum);
    }
  }
}

template <class T>
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dw = call.operand<T>(Name::weights_gradient);
  for (std::int64_t o = 0; o < s.out_channels; ++o) {
    for (std::int64_t i = 0; i < s.in_channels; ++i) {
      double sum = 0;
      for (std::int64_t n = 0; n < s.batch; ++n) {
        sum += double{dy[n * s.out_channels + o]} * double{x[n * s.in_channels + i]};
      }
      dw[o * s.in_channels + i] = static_cast<T>(sum);
    }
  }
}

template <class T>
void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* db = call.operand<T>(Name::bias_gradient);
  for (std::int64_t o = 0; o < s.out_channels; ++o) {
    double sum = 0;
    for (std::int64_t n = 0; n < s.batch; ++n) sum += double{dy[n * s.out_channels + o]};
    db[o] = static_cast<T>(sum);
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::linear_forward, in_either_width<forward<float>, forward<double>>);
}
Variant reference_backward_input() {
  return reference_variant(Op::linear_backward_input,
                           in_either_width<backward_input<float>, backward_input<double>>);
}
Variant reference_backward_weights() {
  return reference_variant(Op::linear_backward_weights,
                           in_either_width<backward_weights<float>, backward_weights<double>>);
}
Variant reference_backward_bias() {
  return reference_variant(Op::linear_backward_bias,
                           in_either_width<backward_bias<float>, backward_bias<double>>);
}

}  // namespace warpscope::ops::linear
