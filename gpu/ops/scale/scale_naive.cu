// scale, variant `naive`: the first rung on CUDA. One thread per element, 4 bytes at a time (2 in 16-bit precisions).
// Limits: none on the shape. Bound by memory: 8 bytes an element, 4 in 16 bits. At most 14 registers, no shared memory,
// no spills. Source: scale.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/scale/scale.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::scale {
namespace {

// Both directions do the same. `from` and `to` may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void scale_naive(Index count, float factor, const T* from, T* to) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    to[i] = from_float<T>(factor * to_float(from[i]));
  }
}

void launch(const OpCall& call, Name from, Name to, const char* kernel) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      scale_naive<Index, T><<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
          static_cast<Index>(count), call.shape.factor, call.operand<const T>(from), call.operand<T>(to));
    });
  });
  core::check_launch(kernel);
}

void forward(const OpCall& call) {
  launch(call, Name::input, Name::output, "scale.forward naive");
}
void backward(const OpCall& call) {
  launch(call, Name::output_gradient, Name::input_gradient, "scale.backward naive");
}

Variant naive(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .presets = {{"naive"}, {"atomic"}, {"atomic_free"}},
          .summary = "One thread per element.",
          .launch = run,
          .refuses = refuses};
}

}  // namespace

Variant naive_forward() {
  return naive(Op::scale_forward, forward);
}
Variant naive_backward() {
  return naive(Op::scale_backward, backward);
}

}  // namespace warpscope::ops::scale
