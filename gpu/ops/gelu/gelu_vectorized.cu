// gelu, variant `vectorized`: over `naive` it adds 16-byte accesses, four or eight elements a thread. Limits: none on
// the shape; what is left over after the last whole vector, and memory that is not aligned to 16 bytes, goes element by
// element. Bound by memory, in 16 bits nearly by the error function. At most 40 registers, no shared memory, no
// spills. Source: gelu.h; vectorized.cuh.

#include "gpu/core/cuda.h"
#include "gpu/ops/gelu/gelu.h"
#include "gpu/ops/gelu/gelu_value.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::gelu {
namespace {

// Input and output may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void gelu_forward_vectorized(Index vectors, Index count, const T* x, T* y) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    float values[decltype(width)::value];
    load_floats(x + i, values);
    for (float& value : values) value = value_at(value);
    store_floats(y + i, values);
  });
}

template <class Index, class T>
__global__ void gelu_backward_vectorized(Index vectors, Index count, const T* __restrict__ x, const T* dy,
                                         T* dx) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    float inputs[kWidth];
    float gradients[kWidth];
    load_floats(x + i, inputs);
    load_floats(dy + i, gradients);
    for (int k = 0; k < kWidth; ++k) gradients[k] *= slope_at(inputs[k]);
    store_floats(dx + i, gradients);
  });
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const T* x = call.operand<const T>(Name::input);
    T* y = call.operand<T>(Name::output);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(x, y));
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      gelu_forward_vectorized<Index, T>
          <<<covered.blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(covered.vectors), static_cast<Index>(count), x, y);
    });
  });
  core::check_launch("gelu.forward vectorized");
}

void backward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const T* x = call.operand<const T>(Name::input);
    const T* dy = call.operand<const T>(Name::output_gradient);
    T* dx = call.operand<T>(Name::input_gradient);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(x, dy, dx));
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      gelu_backward_vectorized<Index, T>
          <<<covered.blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(covered.vectors), static_cast<Index>(count), x, dy, dx);
    });
  });
  core::check_launch("gelu.backward vectorized");
}

Variant vectorized(Op op, void (*launch)(const OpCall&)) {
  return {.op = op,
          .name = "vectorized",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "16 bytes at a time: four or eight elements a thread.",
          .launch = launch};
}

}  // namespace

Variant vectorized_forward() {
  return vectorized(Op::gelu_forward, forward);
}
Variant vectorized_backward() {
  return vectorized(Op::gelu_backward, backward);
}

}  // namespace warpscope::ops::gelu
