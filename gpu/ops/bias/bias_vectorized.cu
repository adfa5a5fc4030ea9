// bias.forward, variant `vectorized`: over `naive` it adds 16-byte accesses along the channels and one
// division for four or eight elements. Limits: none on the shape; where the channels are not a multiple of a
// vector, or memory is not aligned to 16 bytes, the same kernel goes element by element. Bound by memory. At
// most 32 registers, no shared memory, no spills. Source: bias.cpp; vectorized.cuh.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::bias {
namespace {

// Input and output may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void bias_forward_vectorized(Index vectors, Index count, unsigned channels, const T* x,
                                        const T* __restrict__ bias, T* y) {
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    float values[kWidth];
    float biases[kWidth];
    load_floats(x + i, values);
    load_floats(bias + i % channels, biases);
    for (int k = 0; k < kWidth; ++k) values[k] += biases[k];
    store_floats(y + i, values);
  });
}

void forward(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  const int channels = call.shape.in_channels;
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    const T* x = call.operand<const T>(Name::input);
    const T* bias = call.operand<const T>(Name::bias);
    T* y = call.operand<T>(Name::output);
    const bool allowed = channels % kWide<T> == 0 && aligned_16(x, bias, y);
    const VectorCover covered = cover(count, kWide<T>, allowed);
    run_kernel(call, {covered.blocks}, bias_forward_vectorized<Index, T>, covered.vectors, count, channels, x,
               bias, y);
  });
}

}  // namespace

Variant vectorized_forward() {
  return cuda_variant(Op::bias_forward, "vectorized", forward,
                      "16 bytes at a time along the channels: four or eight elements a thread.");
}

}  // namespace warpscope::ops::bias
