// conv2d, variant `reference`: the four formulas of conv2d.cpp term by term, summed in double whatever the
// element type. It is what every other variant is held against, so it is written for reading and checking.
// Limits: none on the shape; single-threaded and slow. Source: the formulas in conv2d.cpp.

#include <cstdint>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::conv2d {
namespace {

template <class T>
View4<T> input_view(T* data, const OpShape& s) {
  return {data, s.height, s.width, s.in_channels};
}

template <class T>
View4<T> output_view(T* data, const OpShape& s) {
  return {data, output_height(s), output_width(s), s.out_channels};
}

template <class T>
View4<T> weights_view(T* data, const OpShape& s) {
  return {data, s.kernel_height, s.kernel_width, s.in_channels};
}

/// Calls body(i, h, w, c) for every element of (count, rows, columns, channels).
template <class Body>
void for_each(std::int64_t count, int rows, int columns, int channels, Body body) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (int h = 0; h < rows; ++h) {
      for (int w = 0; w < columns; ++w) {
        for (int c = 0; c < channels; ++c) body(i, h, w, c);
      }
    }
  }
}

/// sums[c] += row[c] x factor.
template <class T>
void add_row(const T* row, double factor, std::vector<double>& sums) {
  for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += double{row[c]} * factor;
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto x = input_view(call.operand<const T>(Name::input), s);
  const auto weights = weights_view(call.operand<const T>(Name::weights), s);
  const auto y = output_view(call.operand<T>(Name::output), s);
  const int p = padding_of(s, s.kernel_height);
  const int q = padding_of(s, s.kernel_width);
  for_each(s.batch, output_height(s), output_width(s), s.out_channels,
           [&](std::int64_t n, int i, int j, int k) {
             double sum = 0;
             for_each(1, s.kernel_height, s.kernel_width, 1, [&](std::int64_t, int r, int t, int) {
               const int h = i * s.stride + r * s.dilation - p;
               const int w = j * s.stride + t * s.dilation - q;
               if (!x.contains(h, w)) return;
               const T* values = x.at(n, h, w);
               const T* factors = weights.at(k, r, t);
               for (int c = 0; c < s.in_channels; ++c) sum += double{values[c]} * double{factors[c]};
             });
             y(n, i, j, k) = static_cast<T>(sum);
           });
}

template <class T>
void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto dy = output_view(call.operand<const T>(Name::output_gradient), s);
  const auto weights = weights_view(call.operand<const T>(Name::weights), s);
  const auto dx = input_view(call.operand<T>(Name::input_gradient), s);
  const int p = padding_of(s, s.kernel_height);
  const int q = padding_of(s, s.kernel_width);
  std::vector<double> sums(static_cast<std::size_t>(s.in_channels));
  for_each(s.batch, s.height, s.width, 1, [&](std::int64_t n, int h, int w, int) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for_each(1, s.kernel_height, s.kernel_width, s.out_channels, [&](std::int64_t, int r, int t, int k) {
      const int down = h - r * s.dilation + p;
      const int right = w - t * s.dilation + q;
      if (down % s.stride != 0 || right % s.stride != 0) return;
      if (!dy.contains(down / s.stride, right / s.stride)) return;
      add_row(weights.at(k, r, t), double{dy(n, down / s.stride, right / s.stride, k)}, sums);
    });
    std::transform(sums.begin(), sums.end(), dx.at(n, h, w), [](double sum) { return static_cast<T>(sum); });
  });
}

template <class T>
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto x = input_view(call.operand<const T>(Name::input), s);
  const auto dy = output_view(call.operand<const T>(Name::output_gradient), s);
  const auto dw = weights_view(call.operand<T>(Name::weights_gradient), s);
  const int p = padding_of(s, s.kernel_height);
  const int q = padding_of(s, s.kernel_width);
  std::vector<double> sums(static_cast<std::size_t>(s.in_channels));
  for_each(s.out_channels, s.kernel_height, s.kernel_width, 1, [&](std::int64_t k, int r, int t, int) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for_each(s.batch, output_height(s), output_width(s), 1, [&](std::int64_t n, int i, int j, int) {
      const int h = i * s.stride + r * s.dilation - p;
      const int w = j * s.stride + t * s.dilation - q;
      if (!x.contains(h, w)) return;
      add_row(x.at(n, h, w), double{dy(n, i, j, static_cast<int>(k))}, sums);
    });
    std::transform(sums.begin(), sums.end(), dw.at(k, r, t), [](double sum) { return static_cast<T>(sum); });
  });
}

template <class T>
void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto dy = output_view(call.operand<const T>(Name::output_gradient), s);
  T* db = call.operand<T>(Name::bias_gradient);
  for (int k = 0; k < s.out_channels; ++k) {
    double sum = 0;
    for_each(s.batch, output_height(s), output_width(s), 1,
             [&](std::int64_t n, int i, int j, int) { sum += double{dy(n, i, j, k)}; });
    db[k] = static_cast<T>(sum);
  }
}

}  // namespace

Variant reference_forward() {
  return reference_variant(Op::conv2d_forward, in_either_width<forward<float>, forward<double>>);
}

Variant reference_backward_input() {
  return reference_variant(Op::conv2d_backward_input,
                           in_either_width<backward_input<float>, backward_input<double>>);
}

Variant reference_backward_weights() {
  return reference_variant(Op::conv2d_backward_weights,
                           in_either_width<backward_weights<float>, backward_weights<double>>);
}

Variant reference_backward_bias() {
  return reference_variant(Op::conv2d_backward_bias,
                           in_either_width<backward_bias<float>, backward_bias<double>>);
}

}  // namespace warpscope::ops::conv2d
