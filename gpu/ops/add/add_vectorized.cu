// add.forward, variant `vectorized`: over `naive` it adds 16-byte accesses, four or eight elements a thread. Limits:
// none on the shape; what is left over after the last whole vector, and memory that is not aligned to 16 bytes, goes
// element by element. Bound by memory. No shared memory, no spills. Source: add.h; vectorized.cuh.

#include "gpu/core/cuda.h"
#include "gpu/ops/add/add.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::add {
namespace {

// Input and output may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void add_forward_vectorized(Index vectors, Index count, const T* a, const T* __restrict__ b,
                                       T* y) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    float values[kWidth];
    float addends[kWidth];
    load_floats(a + i, values);
    load_floats(b + i, addends);
    for (int k = 0; k < kWidth; ++k) values[k] += addends[k];
    store_floats(y + i, values);
  });
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const T* a = call.operand<const T>(Name::input);
    const T* b = call.operand<const T>(Name::addend);
    T* y = call.operand<T>(Name::output);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(a, b, y));
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      add_forward_vectorized<Index, T>
          <<<covered.blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              static_cast<Index>(covered.vectors), static_cast<Index>(count), a, b, y);
    });
  });
  core::check_launch("add.forward vectorized");
}

}  // namespace

Variant vectorized_forward() {
  return {.op = Op::add_forward,
          .name = "vectorized",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "16 bytes at a time: four or eight elements a thread.",
          .launch = forward};
}

}  // namespace warpscope::ops::add
