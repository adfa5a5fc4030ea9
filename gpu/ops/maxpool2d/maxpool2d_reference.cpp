// maxpool2d, variant `reference`: the definition of maxpool2d.cpp window by window in either element type.
// Limits: none. Source: maxpool2d.cpp.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::maxpool2d {
namespace {

/// Calls body(n, i, j, c) for every element of the pooled image.
template <class Body>
void for_each_window(const OpShape& s, Body body) {
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < pooled_height(s); ++i) {
      for (int j = 0; j < pooled_width(s); ++j) {
        for (int c = 0; c < s.in_channels; ++c) body(n, i, j, c);
      }
    }
  }
}

/// Whether `value` takes the place of `best`: larger, or the first NaN. A later equal value does not.
template <class T>
bool wins(T value, T best) {
  return value > best || (std::isnan(value) && !std::isnan(best));
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> x{call.operand<const T>(Name::input), s.height, s.width, s.in_channels};
  const View4<T> y{call.operand<T>(Name::output), pooled_height(s), pooled_width(s), s.in_channels};
  const View4<std::uint8_t> argmax{call.operand<std::uint8_t>(Name::argmax), pooled_height(s),
                                   pooled_width(s), s.in_channels};
  for_each_window(s, [&](std::int64_t n, int i, int j, int c) {
    const auto at = [&](int code) {
      return x(n, s.kernel_height * i + code / s.kernel_width, s.kernel_width * j + code % s.kernel_width, c);
    };
    int best = 0;
    for (int code = 1; code < s.kernel_height * s.kernel_width; ++code) {
      if (wins(at(code), at(best))) best = code;
    }
    y(n, i, j, c) = at(best);
    argmax(n, i, j, c) = static_cast<std::uint8_t>(best);
  });
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> dy{call.operand<const T>(Name::output_gradient), pooled_height(s), pooled_width(s),
                          s.in_channels};
  const View4<const std::uint8_t> argmax{call.operand<const std::uint8_t>(Name::argmax), pooled_height(s),
                                         pooled_width(s), s.in_channels};
  const View4<T> dx{call.operand<T>(Name::input_gradient), s.height, s.width, s.in_channels};
  std::fill_n(dx.data, s.batch * s.height * s.width * s.in_channels, T{0});
  for_each_window(s, [&](std::int64_t n, int i, int j, int c) {
    const int code = argmax(n, i, j, c);
    dx(n, s.kernel_height * i + code / s.kernel_width, s.kernel_width * j + code % s.kernel_width, c) =
        dy(n, i, j, c);
  });
}

constexpr const char* kSummary = "The definition window by window: what the others are held against.";

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::maxpool2d_forward, in_either_width<forward<float>, forward<double>>, kSummary);
}
Variant reference_backward() {
  return reference_variant(Op::maxpool2d_backward, in_either_width<backward<float>, backward<double>>,
                           kSummary);
}

}  // namespace warpscope::ops::maxpool2d
