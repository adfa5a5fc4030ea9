// add, variant `vectorized`: pointwise/pointwise_vectorized.cuh with add_formula.h, and the same with an activation of
// the sum behind it. Limits and source as there.

#include "gpu/ops/activated_sums.cuh"
#include "gpu/ops/add/add_formula.h"
#include "gpu/ops/chains.h"
#include "gpu/ops/pointwise/pointwise_vectorized.cuh"

namespace warpscope::ops::add {
namespace {

/// `kept`: gets the sum, if it is not nullptr.
template <class Index, class T>
__global__ void add_and_activate(Activation activation, Index vectors, Index count,
                                 const T* __restrict__ from, const T* __restrict__ addend, T* kept, T* to) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    float values[kWidth];
    float others[kWidth];
    load_floats(from + i, values);
    load_floats(addend + i, others);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) values[k] += others[k];
    if (kept != nullptr) store_floats(kept + i, values);
    activate_sums<T>(values, activation);
    store_floats(to + i, values);
  });
}

void add_vectorized(const OpCall& call) {
  const Activation activation = activation_of(call.shape.covered);
  if (activation == Activation::none) return pointwise::run_vectorized<Forward>(call);
  const std::int64_t count = input_elements(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    const T* from = call.operand<const T>(Name::input);
    const T* addend = call.operand<const T>(Name::addend);
    T* kept = call.operand<T>(Name::unactivated);
    T* to = call.operand<T>(Name::output);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(from, addend, kept, to));
    run_kernel(call, {covered.blocks}, add_and_activate<Index, T>, activation, covered.vectors, count, from,
               addend, kept, to);
  });
}

}  // namespace

Variant vectorized_forward() {
  return cuda_variant(
      Op::add_forward, "vectorized", add_vectorized,
      "16 bytes at a time: four or eight elements a thread; an activation of the sum in the same pass.",
      {.chain = own_and_activation(Op::add_forward), .stored_for_others = {Name::unactivated}});
}

}  // namespace warpscope::ops::add
