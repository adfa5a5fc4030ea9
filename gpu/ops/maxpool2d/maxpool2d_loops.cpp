// maxpool2d, variant `loops`: loops over rows of windows, the places of a window read from streams of contiguous
// channels; the four of a 2x2 window side by side. Over `reference` it adds that order. Limits: none on the shape; one
// thread. Source: maxpool2d.cpp.

#include <algorithm>
#include <array>
#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::maxpool2d {
namespace {

// Selects without branches: the compiler takes several channels at a time.
float larger(float best, float value) {
  return ((value > best) | (value != value)) ? value : best;
}

// Whether `value` is the maximum that `larger` found. If one of the window is NaN, so is the maximum.
bool is_maximum(float value, float maximum) {
  return (value == maximum) | (value != value);
}

/// One pixel of the output from two pixels each of two rows.
template <class T>
void pool_square(const T* upper, const T* lower, int channels, T* y, std::uint8_t* argmax) {
  for (int c = 0; c < channels; ++c) {
    const float above = larger(to_float(upper[c]), to_float(upper[channels + c]));
    y[c] = from_float<T>(larger(larger(above, to_float(lower[c])), to_float(lower[channels + c])));
  }
  for (int c = 0; c < channels; ++c) {
    const float maximum = to_float(y[c]);
    int code = 3;
    code = is_maximum(to_float(lower[c]), maximum) ? 2 : code;
    code = is_maximum(to_float(upper[channels + c]), maximum) ? 1 : code;
    code = is_maximum(to_float(upper[c]), maximum) ? 0 : code;
    argmax[c] = static_cast<std::uint8_t>(code);
  }
}

/// One pixel of the output from a window of any size whose first pixel is x(n, row, column).
template <class T>
void pool(const View4<const T>& x, std::int64_t n, int row, int column, const OpShape& s, T* y,
          std::uint8_t* argmax) {
  const T* const first = x.at(n, row, column);
  std::copy_n(first, s.in_channels, y);
  std::fill_n(argmax, s.in_channels, std::uint8_t{0});
  for (int code = 1; code < s.kernel_height * s.kernel_width; ++code) {
    const T* const place = x.at(n, row + code / s.kernel_width, column + code % s.kernel_width);
    for (int c = 0; c < s.in_channels; ++c) {
      const float best = to_float(y[c]);
      // not (value <= best) is true of a NaN value; best == best is false of a NaN that has already won.
      const bool wins = !(to_float(place[c]) <= best) & (best == best);
      y[c] = wins ? place[c] : y[c];
      argmax[c] = wins ? static_cast<std::uint8_t>(code) : argmax[c];
    }
  }
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> x{call.operand<const T>(Name::input), s.height, s.width, s.in_channels};
  T* y = call.operand<T>(Name::output);
  auto* argmax = call.operand<std::uint8_t>(Name::argmax);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < pooled_height(s); ++i) {
      for (int j = 0; j < pooled_width(s); ++j) {
        if (is_two_by_two(s)) {
          pool_square(x.at(n, 2 * i, 2 * j), x.at(n, 2 * i + 1, 2 * j), s.in_channels, y, argmax);
        } else {
          pool(x, n, s.kernel_height * i, s.kernel_width * j, s, y, argmax);
        }
        y += s.in_channels;
        argmax += s.in_channels;
      }
    }
  }
}

/// How many elements of x lie between the first of a window and the one of each code.
std::array<std::int64_t, 256> steps_of(const OpShape& s) {
  std::array<std::int64_t, 256> steps{};
  for (int code = 0; code < s.kernel_height * s.kernel_width; ++code) {
    const int pixels_on = code / s.kernel_width * s.width + code % s.kernel_width;
    steps.at(static_cast<std::size_t>(code)) = std::int64_t{pixels_on} * s.in_channels;
  }
  return steps;
}

template <class T>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto steps = steps_of(s);
  const T* dy = call.operand<const T>(Name::output_gradient);
  const auto* argmax = call.operand<const std::uint8_t>(Name::argmax);
  const View4<T> dx{call.operand<T>(Name::input_gradient), s.height, s.width, s.in_channels};
  std::fill_n(dx.data, s.batch * s.height * s.width * s.in_channels, T{});
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < pooled_height(s); ++i) {
      for (int j = 0; j < pooled_width(s); ++j) {
        T* const corner = dx.at(n, s.kernel_height * i, s.kernel_width * j);
        for (int c = 0; c < s.in_channels; ++c) corner[steps[*argmax++] + c] = *dy++;
      }
    }
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return loops_variant(op, run, "A loop over the windows on one thread.");
}

}  // namespace

Variant loops_forward() {
  return loops(Op::maxpool2d_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward() {
  return loops(Op::maxpool2d_backward, by_storage<backward<float>, backward<BFloat16>>);
}

}  // namespace warpscope::ops::maxpool2d
