// conv2d, variant `loops`: the historic baseline. Nested loops on one thread, each sum kept in a float,
// whatever is stored; over `reference` it adds only that rows are walked through pointers with the contiguous
// channels innermost. Limits: none on the shape. Source: the formulas in conv2d.cpp.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/taps_along.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::conv2d {
namespace {

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> x{call.operand<const T>(Name::input), s.height, s.width, s.in_channels};
  const View4<const T> weights{call.operand<const T>(Name::weights), s.kernel_height, s.kernel_width,
                               s.in_channels};
  T* y = call.operand<T>(Name::output);
  const TapsAlong rows = row_taps(s);
  const TapsAlong columns = column_taps(s);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < output_height(s); ++i) {
      for (int j = 0; j < output_width(s); ++j) {
        for (int k = 0; k < s.out_channels; ++k) {
          float sum = 0;
          for (int r = 0; r < s.kernel_height; ++r) {
            for (int t = 0; t < s.kernel_width; ++t) {
              if (!x.contains(rows.input(i, r), columns.input(j, t))) continue;
              const T* from = x.at(n, rows.input(i, r), columns.input(j, t));
              const T* weight = weights.at(k, r, t);
              for (int c = 0; c < s.in_channels; ++c) sum += to_float(from[c]) * to_float(weight[c]);
            }
          }
          *y++ = from_float<T>(sum);
        }
      }
    }
  }
}

/// Where the sums of backward_input grow, in FP32: in place if that is what is stored, else one image in the
/// workspace.
View4<float> sums_of(const OpCall& call, float* stored) {
  return {stored, call.shape.height, call.shape.width, call.shape.in_channels};
}
View4<float> sums_of(const OpCall& call, BFloat16*) {
  return {static_cast<float*>(call.workspace), call.shape.height, call.shape.width, call.shape.in_channels};
}

template <class T>
void backward_input(const OpCall& call) {
  constexpr bool kInPlace = std::is_same_v<T, float>;
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  const View4<const T> weights{call.operand<const T>(Name::weights), s.kernel_height, s.kernel_width,
                               s.in_channels};
  T* dx = call.operand<T>(Name::input_gradient);
  const View4<float> sums = sums_of(call, dx);
  const std::int64_t image_size = std::int64_t{s.height} * s.width * s.in_channels;
  const TapsAlong rows = row_taps(s);
  const TapsAlong columns = column_taps(s);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::int64_t image = kInPlace ? n : 0;
    std::fill_n(sums.at(image, 0, 0), image_size, 0.0f);
    for (int i = 0; i < output_height(s); ++i) {
      for (int j = 0; j < output_width(s); ++j) {
        for (int k = 0; k < s.out_channels; ++k) {
          const float gradient = to_float(*dy++);
          for (int r = 0; r < s.kernel_height; ++r) {
            for (int t = 0; t < s.kernel_width; ++t) {
              if (!sums.contains(rows.input(i, r), columns.input(j, t))) continue;
              float* to = sums.at(image, rows.input(i, r), columns.input(j, t));
              const T* weight = weights.at(k, r, t);
              for (int c = 0; c < s.in_channels; ++c) to[c] += gradient * to_float(weight[c]);
            }
          }
        }
      }
    }
    if constexpr (!kInPlace) {
      for (std::int64_t e = 0; e < image_size; ++e) *dx++ = from_float<T>(sums.data[e]);
    }
  }
}

std::size_t backward_input_workspace(const OpShape& s, core::Precision precision) {
  if (precision == core::Precision::fp32) return 0;
  return sizeof(float) * static_cast<std::size_t>(s.height) * static_cast<std::size_t>(s.width) *
         static_cast<std::size_t>(s.in_channels);
}

// Images are outermost: one image stays in cache while all weights pass over it.
template <class T>
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const View4<const T> x{call.operand<const T>(Name::input), s.height, s.width, s.in_channels};
  const View4<const T> dy{call.operand<const T>(Name::output_gradient), output_height(s), output_width(s),
                          s.out_channels};
  const View4<float> dw{call.operand<float>(Name::weights_gradient), s.kernel_height, s.kernel_width,
                        s.in_channels};
  const TapsAlong down = row_taps(s);
  const TapsAlong right = column_taps(s);
  std::fill_n(dw.data, dw.rows * dw.columns * dw.channels * s.out_channels, 0.0f);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int k = 0; k < s.out_channels; ++k) {
      for (int r = 0; r < s.kernel_height; ++r) {
        for (int t = 0; t < s.kernel_width; ++t) {
          const int end_row = down.end_output(r, s.height, output_height(s));
          const int end_column = right.end_output(t, s.width, output_width(s));
          float* sum = dw.at(k, r, t);
          for (int i = down.first_output(r); i < end_row; ++i) {
            for (int j = right.first_output(t); j < end_column; ++j) {
              const float gradient = to_float(dy(n, i, j, k));
              const T* from = x.at(n, down.input(i, r), right.input(j, t));
              for (int c = 0; c < s.in_channels; ++c) sum[c] += gradient * to_float(from[c]);
            }
          }
        }
      }
    }
  }
}

// A row is summed by itself before it joins the total: the sum runs over every pixel of the batch, and so its
// rounding error stays that of two short sums.
template <class T>
void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  float* db = call.operand<float>(Name::bias_gradient);
  std::fill_n(db, s.out_channels, 0.0f);
  std::vector<float> row(static_cast<std::size_t>(s.out_channels));
  for (std::int64_t i = 0; i < s.batch * output_height(s); ++i) {
    std::fill(row.begin(), row.end(), 0.0f);
    for (int j = 0; j < output_width(s); ++j) {
      for (float& sum : row) sum += to_float(*dy++);
    }
    for (int k = 0; k < s.out_channels; ++k) db[k] += row[static_cast<std::size_t>(k)];
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "loops",
          .presets = {{"loops", true}},
          .summary =
              "Nested loops on one thread, sums in FP32: the baseline that every speed-up is measured from.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::conv2d_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward_input() {
  Variant variant =
      loops(Op::conv2d_backward_input, by_storage<backward_input<float>, backward_input<BFloat16>>);
  variant.workspace_bytes = backward_input_workspace;
  return variant;
}
Variant loops_backward_weights() {
  return loops(Op::conv2d_backward_weights, by_storage<backward_weights<float>, backward_weights<BFloat16>>);
}
Variant loops_backward_bias() {
  return loops(Op::conv2d_backward_bias, by_storage<backward_bias<float>, backward_bias<BFloat16>>);
}

}  // namespace warpscope::ops::conv2d
