// add.forward, variant `naive`: the first rung on CUDA. One thread per element. Limits: none on the shape. Bound by
// memory: 12 bytes an element, 6 in 16-bit precisions. No shared memory, no spills. Source: add.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/add/add.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::add {
namespace {

// Input and output may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void add_forward_naive(Index count, const T* a, const T* __restrict__ b, T* y) {
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>())
    y[i] = from_float<T>(to_float(a[i]) + to_float(b[i]));
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      add_forward_naive<Index, T>
          <<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(count), call.operand<const T>(Name::input),
              call.operand<const T>(Name::addend), call.operand<T>(Name::output));
    });
  });
  core::check_launch("add.forward naive");
}

}  // namespace

Variant naive_forward() {
  return {.op = Op::add_forward,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .presets = {{"naive"}, {"atomic"}, {"atomic_free"}},
          .summary = "One thread per element.",
          .launch = forward};
}

}  // namespace warpscope::ops::add
