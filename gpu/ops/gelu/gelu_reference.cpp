// gelu, variant `reference`: the formulas of gelu.cpp element by element in double, Phi from the complementary error
// function, which loses nothing where x is far below 0. Limits: none. Source: gelu.cpp.

#include <cmath>
#include <cstdint>
#include <numbers>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::gelu {
namespace {

double distribution(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}
double density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

template <class T>
void forward(const OpCall& call) {
  const T* x = call.operand<const T>(Name::input);
  T* y = call.operand<T>(Name::output);
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i)
    y[i] = static_cast<T>(double{x[i]} * distribution(double{x[i]}));
}

template <class T>
void backward(const OpCall& call) {
  const T* inputs = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dx = call.operand<T>(Name::input_gradient);
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) {
    const double x{inputs[i]};
    dx[i] = static_cast<T>(double{dy[i]} * (distribution(x) + x * density(x)));
  }
}

constexpr const char* kSummary =
    "The formula element by element in double: what the others are held against.";

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::gelu_forward, in_either_width<forward<float>, forward<double>>, kSummary);
}
Variant reference_backward() {
  return reference_variant(Op::gelu_backward, in_either_width<backward<float>, backward<double>>, kSummary);
}

}  // namespace warpscope::ops::gelu
