// gelu, variant `naive`: the first rung on CUDA. One thread per element, 4 bytes at a time (2 in 16-bit precisions).
// Limits: none on the shape. Bound by memory: 8 (forward) and 12 (backward) bytes an element, in 16 bits half of that.
// At most 22 registers, no shared memory, no spills. Source: gelu.h; erff: "CUDA Math API".

#include "gpu/core/cuda.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/gelu/gelu.h"
#include "gpu/ops/gelu/gelu_value.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::gelu {
namespace {

// Input and output may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void gelu_forward_naive(Index count, const T* x, T* y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    y[i] = from_float<T>(value_at(to_float(x[i])));
  }
}

template <class Index, class T>
__global__ void gelu_backward_naive(Index count, const T* __restrict__ x, const T* dy, T* dx) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    dx[i] = from_float<T>(to_float(dy[i]) * slope_at(to_float(x[i])));
  }
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      gelu_forward_naive<Index, T>
          <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(count), call.operand<const T>(Name::input), call.operand<T>(Name::output));
    });
  });
  core::check_launch("gelu.forward naive");
}

void backward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      gelu_backward_naive<Index, T>
          <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(count), call.operand<const T>(Name::input),
              call.operand<const T>(Name::output_gradient), call.operand<T>(Name::input_gradient));
    });
  });
  core::check_launch("gelu.backward naive");
}

Variant naive(Op op, void (*launch)(const OpCall&)) {
  return {.op = op,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .presets = {{"naive"}, {"atomic"}, {"atomic_free"}},
          .summary = "One thread per element.",
          .launch = launch};
}

}  // namespace

Variant naive_forward() {
  return naive(Op::gelu_forward, forward);
}
Variant naive_backward() {
  return naive(Op::gelu_backward, backward);
}

}  // namespace warpscope::ops::gelu
