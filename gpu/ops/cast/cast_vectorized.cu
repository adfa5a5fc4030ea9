// weights.cast and images.widen, variant `vectorized`: eight elements a thread, in 16-byte accesses on both
// sides, which is one access on the 16-bit side and two on the other. Limits: none on the shape; what is left
// over after the last whole vector, and memory that is not aligned to 16 bytes, goes element by element.
// Bound by memory. At most 30 registers, no shared memory, no spills. Source: cast.cpp; vectorized.cuh.

#include "gpu/core/cuda.h"
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
void convert(std::int64_t count, const From* from, To* to, cudaStream_t stream) {
  const VectorCover covered = cover(count, kElements<From, To>, aligned_16(from, to));
  with_index(count, [&](auto index) {
    using Index = decltype(index);
    cast_vectorized<Index, From, To><<<covered.blocks, kElementThreads, 0, stream>>>(
        static_cast<Index>(covered.vectors), static_cast<Index>(count), from, to);
  });
}

void weights(const OpCall& call) {
  with_storage(call.precision, [&](auto storage) {
    convert(call.shape.count, call.operand<const float>(Name::parameters),
            call.operand<decltype(storage)>(Name::weights), core::cuda_stream(*call.stream));
  });
  core::check_launch("weights.cast vectorized");
}

void widen(const OpCall& call) {
  with_storage(call.precision, [&](auto storage) {
    convert(input_elements(call.shape), call.operand<const decltype(storage)>(Name::input),
            call.operand<float>(Name::output), core::cuda_stream(*call.stream));
  });
  core::check_launch("images.widen vectorized");
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
