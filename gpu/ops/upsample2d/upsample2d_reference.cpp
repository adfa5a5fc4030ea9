// upsample2d, variant `reference`: the formulas of upsample2d.cpp element by element, summed in double.
// Limits: none. Source: upsample2d.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::upsample2d {
namespace {

/// Calls body(n, h, w, c) for every element of (N, rows, columns, C).
template <class Body>
void for_each(const OpShape& s, int rows, int columns, Body body) {
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int h = 0; h < rows; ++h) {
      for (int w = 0; w < columns; ++w) {
        for (int c = 0; c < s.in_channels; ++c) body(n, h, w, c);
      }
    }
  }
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> x{call.operand<const T>(Name::input), s.height, s.width, s.in_channels};
  const View4<T> y{call.operand<T>(Name::output), 2 * s.height, 2 * s.width, s.in_channels};
  for_each(s, 2 * s.height, 2 * s.width,
           [&](std::int64_t n, int i, int j, int c) { y(n, i, j, c) = x(n, i / 2, j / 2, c); });
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> dy{call.operand<const T>(Name::output_gradient), 2 * s.height, 2 * s.width,
                          s.in_channels};
  const View4<T> dx{call.operand<T>(Name::input_gradient), s.height, s.width, s.in_channels};
  for_each(s, s.height, s.width, [&](std::int64_t n, int i, int j, int c) {
    const double sum = double{dy(n, 2 * i, 2 * j, c)} + double{dy(n, 2 * i, 2 * j + 1, c)} +
                       double{dy(n, 2 * i + 1, 2 * j, c)} + double{dy(n, 2 * i + 1, 2 * j + 1, c)};
    dx(n, i, j, c) = static_cast<T>(sum);
  });
}

constexpr const char* kSummary =
    "The formula element by element, summed in double: what the others are held against.";

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::upsample2d_forward, in_either_width<forward<float>, forward<double>>,
                           kSummary);
}
Variant reference_backward() {
  return reference_variant(Op::upsample2d_backward, in_either_width<backward<float>, backward<double>>,
                           kSummary);
}

}  // namespace warpscope::ops::upsample2d
