// dropout, variant `naive`: the first rung on CUDA. One thread per element, 4 bytes at a time (2 in 16-bit precisions),
// which draws the bits of its pair of elements and takes its half. Limits: none on the shape. Bound by memory: 8 bytes
// an element, 4 in 16 bits. At most 20 registers, no shared memory, no spills. Source: dropout.h.

#include "gpu/core/cuda.h"
#include "gpu/ops/dropout/dropout.h"
#include "gpu/ops/dropout/mask.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::dropout {
namespace {

// Both directions do the same. `from` and `to` may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void dropout_naive(Index count, std::uint32_t salt, std::uint32_t threshold, float scale,
                              const step::StepControl* __restrict__ control, const T* from, T* to) {
  const std::uint64_t key = key_of(*control, salt);
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    // A product, not a choice: what is not finite must not be dropped unseen.
    to[i] = from_float<T>(to_float(from[i]) * (element_bits(key, i) >= threshold ? scale : 0.0f));
  }
}

void launch(const OpCall& call, Name from, Name to, const char* kernel) {
  const OpShape& s = call.shape;
  const std::int64_t count = input_elements(s);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      dropout_naive<Index, T><<<element_blocks(count), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
          static_cast<Index>(count), s.salt, threshold_of(s), static_cast<float>(scale_of(s)),
          call.operand<const step::StepControl>(Name::control), call.operand<const T>(from),
          call.operand<T>(to));
    });
  });
  core::check_launch(kernel);
}

void forward(const OpCall& call) {
  launch(call, Name::input, Name::output, "dropout.forward naive");
}
void backward(const OpCall& call) {
  launch(call, Name::output_gradient, Name::input_gradient, "dropout.backward naive");
}

Variant naive(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .presets = {{"naive"}, {"atomic"}, {"atomic_free"}},
          .summary = "One thread per element.",
          .launch = run,
          .refuses = refuses};
}

}  // namespace

Variant naive_forward() {
  return naive(Op::dropout_forward, forward);
}
Variant naive_backward() {
  return naive(Op::dropout_backward, backward);
}

}  // namespace warpscope::ops::dropout
