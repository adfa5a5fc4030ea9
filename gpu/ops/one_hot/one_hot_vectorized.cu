// one_hot, variant `vectorized`: over `naive` it adds writes of 16 bytes, four or eight elements a thread with one
// division, and a read for each character that they belong to. Limits: none on the shape; what is left over after the
// last whole vector, and memory that is not aligned to 16 bytes, goes element by element. Bound by writing. No shared
// memory, no spills. Source: one_hot.cpp; vectorized.cuh.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::one_hot {
namespace {

template <class Index, class T>
__global__ void one_hot_forward_vectorized(Index vectors, Index count, int channels, const T* __restrict__ x,
                                           T* __restrict__ y) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    Index pixel = i / static_cast<unsigned>(channels);
    auto channel = static_cast<int>(i - pixel * static_cast<unsigned>(channels));
    int symbol = symbol_of(to_float(x[pixel]), channels);
    float values[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      if (channel == channels) {  // the next character begins
        channel = 0;
        symbol = symbol_of(to_float(x[++pixel]), channels);
      }
      values[k] = symbol == ++channel ? 1.0f : 0.0f;
    }
    store_floats(y + i, values);
  });
}

void forward(const OpCall& call) {
  const std::int64_t count = sizes::output(call.shape);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    T* y = call.operand<T>(Name::output);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(y));
    run_kernel(call, {covered.blocks}, one_hot_forward_vectorized<Index, T>, covered.vectors, count,
               call.shape.out_channels, Name::input, y);
  });
}

}  // namespace

Variant vectorized_forward() {
  return cuda_variant(Op::one_hot_forward, "vectorized", forward,
                      "16 bytes at a time: four or eight elements a thread.");
}

}  // namespace warpscope::ops::one_hot
