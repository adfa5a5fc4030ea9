#pragma once
// pointwise, variant `naive`: the first rung on CUDA. One thread per element, 4 bytes at a time (2 in 16-bit
// precisions). Limits: none on the shape. Bound by memory. No shared memory, no spills.

#include <string>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/pointwise/pointwise.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::pointwise {

// `from` and `to` may be the same memory, hence no __restrict__ on them.
template <class Formula, class Index, class T>
__global__ void pointwise_naive(Formula formula, Index count, const T* from, const T* __restrict__ second,
                                T* to) {
  const auto each = begin(formula);
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    float value[1] = {to_float(from[i])};
    float other[1] = {};
    if constexpr (kHasSecond<Formula>) other[0] = to_float(second[i]);
    apply<Formula>(each, i, value, other);
    to[i] = from_float<T>(value[0]);
  }
}

template <class Formula>
void run_naive(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, pointwise_naive<Formula, Index, T>, Formula(call), count,
                 call.operand<const T>(Formula::kFrom), second_of<T, Formula>(call),
                 call.operand<T>(Formula::kTo));
  });
}

template <class Formula>
Variant naive(std::string (*refuses)(const OpShape&) = nullptr) {
  Variant made = naive_variant(Formula::kOp, run_naive<Formula>, "One thread per element.");
  if (refuses != nullptr) made.refuses = refuses;
  return made;
}

}  // namespace warpscope::ops::pointwise
