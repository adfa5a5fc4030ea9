// weights.cast and images.widen, variant `vectorized`: eight elements a thread, in 16-byte accesses on both
// sides, which is one access on the 16-bit side and two on the other. Limits: none on the shape; what is left
// over after the last whole vector, and memory that is not aligned to 16 bytes, goes element by element.
// Bound by memory. At most 30 registers, no shared memory, no spills. Source: cast.cpp; vectorized.cuh.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::cast {
namespace {

/// Elements a thread: as many as 16 bytes hold of the narrower type.
template <class From, class To>
inline constexpr int kElements = kWide<From> > kWide<To> ? kWide<From> : kWide<To>;

template <class Index, class From, class To>
__global__ void cast_vectorized(Index vectors, Index count, const From* __restrict__ from,
                                To* __restrict__ to) {
  for_each_vector<kElements<From, To>>(vectors, count, [=](Index i, auto width) {
    float values[decltype(width)::value];
    load_floats(from + i, values);
    store_floats(to + i, values);
  });
}

template <class From, class To>
void convert(const OpCall& call, std::int64_t count, Name source, Name target) {
  const auto* from = call.operand<const From>(source);
  auto* to = call.operand<To>(target);
  const VectorCover covered = cover(count, kElements<From, To>, aligned_16(from, to));
  with_index(count, [&]<class Index>(Index) {
    run_kernel(call, {covered.blocks}, cast_vectorized<Index, From, To>, covered.vectors, count, from, to);
  });
}

void weights(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    convert<float, T>(call, call.shape.count, Name::parameters, Name::weights);
  });
}

void widen(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    convert<T, float>(call, input_elements(call.shape), Name::input, Name::output);
  });
}

Variant vectorized(Op op, void (*launch)(const OpCall&)) {
  return cuda_variant(op, "vectorized", launch, "16 bytes at a time: four or eight elements a thread.");
}

}  // namespace

Variant vectorized_weights() {
  return vectorized(Op::weights_cast, weights);
}
Variant vectorized_widen() {
  return vectorized(Op::images_widen, widen);
}

}  // namespace warpscope::ops::cast
