// linear, variant `loops`: loops that walk every matrix along its rows, with sums in FP32. Both backward
// passes add multiples of whole rows, which the compiler turns into vector code; forward is a dot product of
// two rows. Limits: none on the shape; one thread. Source: linear.cpp.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

/// y += factor * x.
template <class T>
void add_multiple(float factor, const T* x, float* y, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) y[i] += factor * to_float(x[i]);
}

template <class T>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* weights = call.operand<const T>(Name::weights);
  T* y = call.operand<T>(Name::output);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const T* w = weights;
    for (int o = 0; o < s.out_channels; ++o) {
      float sum = 0;
      for (int i = 0; i < s.in_channels; ++i) sum += to_float(x[i]) * to_float(w[i]);
      *y++ = from_float<T>(sum);
      w += s.in_channels;
    }
    x += s.in_channels;
  }
}

float* row_sums(const OpCall&, float* stored) {
  return stored;
}
float* row_sums(const OpCall& call, BFloat16*) {
  return static_cast<float*>(call.workspace);
}

// The gradient of one row grows in FP32: in place if that is what is stored, else in the workspace.
template <class T>
void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  const T* w = call.operand<const T>(Name::weights);
  T* dx = call.operand<T>(Name::input_gradient);
  for (std::int64_t n = 0; n < s.batch; ++n, dx += s.in_channels) {
    float* row = row_sums(call, dx);
    std::fill_n(row, s.in_channels, 0.0f);
    for (std::int64_t o = 0; o < s.out_channels; ++o) {
      add_multiple(to_float(*dy++), w + o * s.in_channels, row, s.in_channels);
    }
    if constexpr (!std::is_same_v<T, float>) {
      for (int i = 0; i < s.in_channels; ++i) dx[i] = from_float<T>(row[i]);
    }
  }
}

std::size_t backward_input_workspace(const OpShape& s, core::Precision precision) {
  return precision == core::Precision::fp32 ? 0 : sizeof(float) * static_cast<std::size_t>(s.in_channels);
}

template <class T>
void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* x = call.operand<const T>(Name::input);
  const T* dy = call.operand<const T>(Name::output_gradient);
  float* dw = call.operand<float>(Name::weights_gradient);
  std::fill_n(dw, std::int64_t{s.out_channels} * s.in_channels, 0.0f);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t o = 0; o < s.out_channels; ++o) {
      add_multiple(to_float(*dy++), x + n * s.in_channels, dw + o * s.in_channels, s.in_channels);
    }
  }
}

template <class T>
void backward_bias(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* dy = call.operand<const T>(Name::output_gradient);
  float* db = call.operand<float>(Name::bias_gradient);
  std::fill_n(db, s.out_channels, 0.0f);
  for (std::int64_t n = 0; n < s.batch; ++n) {
    add_multiple(1.0f, dy + n * s.out_channels, db, s.out_channels);
  }
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return loops_variant(op, run, "Loops along the rows of the matrices on one thread, sums in FP32.");
}

}  // namespace

Variant loops_forward() {
  return loops(Op::linear_forward, by_storage<forward<float>, forward<BFloat16>>);
}
Variant loops_backward_input() {
  Variant variant =
      loops(Op::linear_backward_input, by_storage<backward_input<float>, backward_input<BFloat16>>);
  variant.workspace_bytes = backward_input_workspace;
  return variant;
}
Variant loops_backward_weights() {
  return loops(Op::linear_backward_weights, by_storage<backward_weights<float>, backward_weights<BFloat16>>);
}
Variant loops_backward_bias() {
  return loops(Op::linear_backward_bias, by_storage<backward_bias<float>, backward_bias<BFloat16>>);
}

}  // namespace warpscope::ops::linear
