// embedding.forward, variant `vectorized`: over `naive` it adds 16-byte accesses, four or eight elements of a row a
// thread, with one division. Limits: none on the shape; rows that do not fill whole vectors, and memory that is not
// aligned to 16 bytes, go element by element. Bound by writing. No shared memory, no spills. Source: embedding.cpp;
// vectorized.cuh.

#include "gpu/ops/embedding/embedding.h"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::embedding {
namespace {

template <class Index, class T>
__global__ void embedding_forward_vectorized(Index vectors, Index count, int rows, int channels,
                                             const T* __restrict__ x, const T* __restrict__ w,
                                             T* __restrict__ y) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    using Row = Vec<T, decltype(width)::value>;
    const Index pixel = i / static_cast<unsigned>(channels);
    const auto channel = static_cast<int>(i - pixel * static_cast<unsigned>(channels));
    const T* from = w + symbol_of(to_float(x[pixel]), rows - 1) * channels + channel;
    *reinterpret_cast<Row*>(y + i) = *reinterpret_cast<const Row*>(from);
  });
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = sizes::output(s);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    const T* w = call.operand<const T>(Name::weights);
    T* y = call.operand<T>(Name::output);
    const VectorCover covered = cover(count, kWide<T>, s.out_channels % kWide<T> == 0 && aligned_16(w, y));
    run_kernel(call, {covered.blocks}, embedding_forward_vectorized<Index, T>, covered.vectors, count,
               s.count, s.out_channels, Name::input, w, y);
  });
}

}  // namespace

Variant vectorized_forward() {
  return cuda_variant(Op::embedding_forward, "vectorized", forward,
                      "16 bytes of a row at a time: four or eight elements a thread.");
}

}  // namespace warpscope::ops::embedding
