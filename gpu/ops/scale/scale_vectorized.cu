// scale, variant `vectorized`: over `naive` it adds 16-byte accesses, four or eight elements a thread. Limits: none on
// the shape; what is left over after the last whole vector, and memory that is not aligned to 16 bytes, goes element by
// element. Bound by memory. At most 25 registers, no shared memory, no spills. Source: scale.h; vectorized.cuh.

#include "gpu/core/cuda.h"
#include "gpu/ops/scale/scale.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::scale {
namespace {

// Both directions do the same. `from` and `to` may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void scale_vectorized(Index vectors, Index count, float factor, const T* from, T* to) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    float values[decltype(width)::value];
    load_floats(from + i, values);
    for (float& value : values) value *= factor;
    store_floats(to + i, values);
  });
}

void launch(const OpCall& call, Name source, Name target, const char* kernel) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const T* from = call.operand<const T>(source);
    T* to = call.operand<T>(target);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(from, to));
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      scale_vectorized<Index, T><<<covered.blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
          static_cast<Index>(covered.vectors), static_cast<Index>(count), call.shape.factor, from, to);
    });
  });
  core::check_launch(kernel);
}

void forward(const OpCall& call) {
  launch(call, Name::input, Name::output, "scale.forward vectorized");
}
void backward(const OpCall& call) {
  launch(call, Name::output_gradient, Name::input_gradient, "scale.backward vectorized");
}

Variant vectorized(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "vectorized",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "16 bytes at a time: four or eight elements a thread.",
          .launch = run,
          .refuses = refuses};
}

}  // namespace

Variant vectorized_forward() {
  return vectorized(Op::scale_forward, forward);
}
Variant vectorized_backward() {
  return vectorized(Op::scale_backward, backward);
}

}  // namespace warpscope::ops::scale
