// conv2d, variants `gather_rows` and `scatter_rows` for the CPU: rows.h in FP32 on one thread. Over `loops` they add
// that one-hot characters are never made and nothing is multiplied with their zeros: C times fewer additions, along
// rows that lie in one piece. Limits: first layers over one_hot. Source: rows.h.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/conv2d/taps_along.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::conv2d {
namespace fused::rows {
namespace {

/// Calls visit(pixel of the output, tap, symbol) for all taps of one pixel after the other, which are no padding.
template <class T, class Visit>
void for_each_tap(const OpShape& s, const T* text, Visit visit) {
  const View4<const T> x{text, s.height, s.width, 1};
  const TapsAlong along_rows = row_taps(s);
  const TapsAlong along_columns = column_taps(s);
  std::int64_t pixel = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < output_height(s); ++i) {
      for (int j = 0; j < output_width(s); ++j, ++pixel) {
        for (int tap = 0; tap < taps_of(s); ++tap) {
          const int row = along_rows.input(i, tap / s.kernel_width);
          const int column = along_columns.input(j, tap % s.kernel_width);
          if (x.contains(row, column))
            visit(pixel, tap, symbol_of(to_float(x(n, row, column, 0)), s.in_channels));
        }
      }
    }
  }
}

/// row(tap, symbol) in a table.
float* row_of(float* table, const OpShape& s, int tap, int symbol) {
  return table + (std::int64_t{tap} * (s.in_channels + 1) + symbol) * s.out_channels;
}

/// Calls visit(weight, its place in the table) for each weight, by their order in (K,R,S,C).
template <class Visit>
void for_each_weight(float* table, const OpShape& s, Visit visit) {
  std::int64_t weight = 0;
  for (int k = 0; k < s.out_channels; ++k) {
    for (int tap = 0; tap < taps_of(s); ++tap) {
      for (int c = 0; c < s.in_channels; ++c) visit(weight++, row_of(table, s, tap, c + 1)[k]);
    }
  }
}

/// The table, and behind it a row for the sums of a pixel.
template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* weights = call.operand<const T>(Name::weights);
  const T* bias = call.covers(Op::bias_forward) ? call.operand<const T>(Name::bias) : nullptr;
  const bool relu = call.covers(Op::relu_forward);
  T* y = call.operand<T>(Name::output);
  auto* const table = static_cast<float*>(call.workspace);
  float* const sums = table + elements_of(s);
  const int filters = s.out_channels;
  for_each_weight(table, s, [&](std::int64_t weight, float& place) { place = to_float(weights[weight]); });
  const auto begin = [&](std::int64_t) {
    for (int k = 0; k < filters; ++k) sums[k] = bias == nullptr ? 0.0f : to_float(bias[k]);
  };
  const auto finish = [&](std::int64_t pixel) {
    for (int k = 0; k < filters; ++k) {
      const float value = sums[k];
      y[pixel * filters + k] = from_float<T>(relu && value <= 0.0f ? 0.0f : value);
    }
  };
  std::int64_t current = 0;
  begin(0);
  for_each_tap(s, call.operand<const T>(Name::input), [&](std::int64_t pixel, int tap, int symbol) {
    for (; current < pixel; begin(++current)) finish(current);
    if (symbol == 0) return;
    const float* const row = row_of(table, s, tap, symbol);
    for (int k = 0; k < filters; ++k) sums[k] += row[k];
  });
  for (const std::int64_t pixels = s.batch * output_height(s) * output_width(s); current < pixels;
       begin(++current)) {
    finish(current);
  }
}

template <class T>
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  float* dw = call.operand<float>(Name::weights_gradient);
  auto* const table = static_cast<float*>(call.workspace);
  std::fill_n(table, elements_of(s), 0.0f);
  for_each_tap(s, call.operand<const T>(Name::input), [&](std::int64_t pixel, int tap, int symbol) {
    float* const row = row_of(table, s, tap, symbol);
    const T* const gradient = dy + pixel * s.out_channels;
    for (int k = 0; k < s.out_channels; ++k) row[k] += to_float(gradient[k]);
  });
  for_each_weight(table, s, [&](std::int64_t weight, float& place) { dw[weight] = place; });
}

std::size_t workspace(const OpShape& s, core::Precision) {
  return sizeof(float) * static_cast<std::size_t>(elements_of(s) + s.out_channels);
}

Variant variant(Op op, const char* name, std::vector<Link> chain, const char* summary,
                void (*run)(const OpCall&)) {
  return {.op = op,
          .name = name,
          .chain = std::move(chain),
          .summary = summary,
          .launch = run,
          .workspace_bytes = workspace,
          .refuses = refuses};
}

}  // namespace
}  // namespace fused::rows

Variant gather_rows_loops_forward() {
  using namespace fused::rows;
  return variant(Op::conv2d_forward, "gather_rows", forward_chain(),
                 "One-hot characters pick rows of weights, which are added; bias and ReLU in the same pass.",
                 by_storage<forward<float>, forward<BFloat16>>);
}
Variant scatter_rows_loops_backward_weights() {
  using namespace fused::rows;
  return variant(Op::conv2d_backward_weights, "scatter_rows", backward_weights_chain(),
                 "Gradients are added to the row of their one-hot character.",
                 by_storage<backward_weights<float>, backward_weights<BFloat16>>);
}

}  // namespace warpscope::ops::conv2d
