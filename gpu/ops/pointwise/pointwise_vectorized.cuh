#pragma once
// pointwise, variant `vectorized`: over `naive` it adds 16-byte accesses, four or eight elements a thread, so that
// fewer instructions keep the same bytes in flight. Limits: none on the shape; what is left over after the last whole
// vector, and memory that is not aligned to 16 bytes, goes element by element. Bound by memory. No shared memory, no
// spills. Source: vectorized.cuh.

#include <string>

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/pointwise/pointwise.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::pointwise {

// `from` and `to` may be the same memory, hence no __restrict__ on them.
template <class Formula, class Index, class T>
__global__ void pointwise_vectorized(Formula formula, Index vectors, Index count, const T* from,
                                     const T* __restrict__ second, T* to) {
  const auto each = begin(formula);
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    float values[decltype(width)::value];
    float others[decltype(width)::value] = {};
    if constexpr (kHasSecond<Formula>) {
      if constexpr (Formula::kReadsOnce) {
        load_floats_once(second + i, others);
      } else {
        load_floats(second + i, others);
      }
    }
    load_floats(from + i, values);
    apply<Formula>(each, i, values, others);
    store_floats(to + i, values);
  });
}

template <class Formula>
void run_vectorized(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    const T* from = call.operand<const T>(Formula::kFrom);
    const T* second = second_of<T, Formula>(call);
    T* to = call.operand<T>(Formula::kTo);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(from, second, to));
    run_kernel(call, {covered.blocks}, pointwise_vectorized<Formula, Index, T>, Formula(call),
               covered.vectors, count, from, second, to);
  });
}

template <class Formula>
Variant vectorized(std::string (*refuses)(const OpShape&) = nullptr) {
  Variant made = cuda_variant(Formula::kOp, "vectorized", run_vectorized<Formula>,
                              "16 bytes at a time: four or eight elements a thread.");
  if (refuses != nullptr) made.refuses = refuses;
  return made;
}

}  // namespace warpscope::ops::pointwise
