// dropout, variant `vectorized`: over `naive` it adds 16-byte accesses, four or eight elements a thread, and that each
// number of the generator is drawn once for the two elements that share it. Limits: none on the shape; what is left
// over after the last whole vector, and memory that is not aligned to 16 bytes, goes element by element. Bound by
// memory. At most 32 registers, no shared memory, no spills. Source: dropout.h; vectorized.cuh.

#include "gpu/core/cuda.h"
#include "gpu/ops/dropout/dropout.h"
#include "gpu/ops/dropout/mask.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::dropout {
namespace {

/// The bits of W elements from `first` on, which is even unless W is 1.
template <int W>
__device__ __forceinline__ void draw_bits(std::uint64_t key, std::uint64_t first, std::uint32_t (&bits)[W]) {
  if constexpr (W == 1) {
    bits[0] = element_bits(key, first);
  } else {
#pragma unroll
    for (int k = 0; k < W; k += 2) {
      const std::uint64_t pair = pair_bits(key, first / 2 + static_cast<unsigned>(k) / 2);
      bits[k] = static_cast<std::uint32_t>(pair);
      bits[k + 1] = static_cast<std::uint32_t>(pair >> 32);
    }
  }
}

// Both directions do the same. `from` and `to` may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void dropout_vectorized(Index vectors, Index count, std::uint32_t salt, std::uint32_t threshold,
                                   float scale, const step::StepControl* __restrict__ control, const T* from,
                                   T* to) {
  const std::uint64_t key = key_of(*control, salt);
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    float values[kWidth];
    std::uint32_t bits[kWidth];
    load_floats(from + i, values);
    draw_bits(key, i, bits);
    // A product, not a choice: what is not finite must not be dropped unseen.
    for (int k = 0; k < kWidth; ++k) values[k] *= bits[k] >= threshold ? scale : 0.0f;
    store_floats(to + i, values);
  });
}

void launch(const OpCall& call, Name source, Name target, const char* kernel) {
  const OpShape& s = call.shape;
  const std::int64_t count = input_elements(s);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    const T* from = call.operand<const T>(source);
    T* to = call.operand<T>(target);
    const VectorCover covered = cover(count, kWide<T>, aligned_16(from, to));
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      dropout_vectorized<Index, T><<<covered.blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
          static_cast<Index>(covered.vectors), static_cast<Index>(count), s.salt, threshold_of(s),
          static_cast<float>(scale_of(s)), call.operand<const step::StepControl>(Name::control), from, to);
    });
  });
  core::check_launch(kernel);
}

void forward(const OpCall& call) {
  launch(call, Name::input, Name::output, "dropout.forward vectorized");
}
void backward(const OpCall& call) {
  launch(call, Name::output_gradient, Name::input_gradient, "dropout.backward vectorized");
}

Variant vectorized(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "vectorized",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "16 bytes at a time: four or eight elements a thread, 64 random bits for two of them.",
          .launch = run,
          .refuses = refuses};
}

}  // namespace

Variant vectorized_forward() {
  return vectorized(Op::dropout_forward, forward);
}
Variant vectorized_backward() {
  return vectorized(Op::dropout_backward, backward);
}

}  // namespace warpscope::ops::dropout
