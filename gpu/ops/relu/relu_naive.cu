// relu, variant `naive`: the first rung on CUDA. One thread per element, 4 bytes at a time (2 in 16-bit
// precisions). Limits: none on the shape. Bound by memory: 8 (forward) and 12 (backward) bytes an element, in
// 16 bits half of that. At most 17 registers, no shared memory, no spills. Source: relu.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/relu/relu.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {
namespace {

// Input and output may be the same memory, hence no __restrict__.
template <class Index, class T>
__global__ void relu_forward_naive(Index count, const T* x, T* y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const float value = to_float(x[i]);
    // Not max(value, 0): a NaN compares false and passes through.
    y[i] = from_float<T>(value < 0.0f ? 0.0f : value);
  }
}

template <class Index, class T>
__global__ void relu_backward_naive(Index count, const T* y, const T* dy, T* dx) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    dx[i] = to_float(y[i]) > 0.0f ? dy[i] : from_float<T>(0.0f);
  }
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      relu_forward_naive<Index, T>
          <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(count), call.operand<const T>(Name::input), call.operand<T>(Name::output));
    });
  });
  core::check_launch("relu.forward naive");
}

void backward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      relu_backward_naive<Index, T>
          <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(count), call.operand<const T>(Name::output),
              call.operand<const T>(Name::output_gradient), call.operand<T>(Name::input_gradient));
    });
  });
  core::check_launch("relu.backward naive");
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
  return naive(Op::relu_forward, forward);
}
Variant naive_backward() {
  return naive(Op::relu_backward, backward);
}

}  // namespace warpscope::ops::relu
