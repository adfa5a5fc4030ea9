// batch_norm.infer, variant `vectorized`: over `naive` it adds 16-byte accesses, and that a thread keeps its
// channels, whose roots and products it takes once, and that a ReLU and an addition behind it run in the same pass.
// `summed` is the same with an addition that comes first, and an activation of the sum.
// Limits: none on the shape; channels that are no multiple of 16 bytes, and memory that does not start at one, go an
// element at a time. Bound by memory. At most 69 registers, no shared memory, no spills. Source: batch_norm.cpp;
// columns.cuh.

#include "gpu/ops/batch_norm/normalize_columns.cuh"
#include "gpu/ops/chains.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

template <Sum kWith>
void infer(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    normalize_columns<T, kWith>(call, RunningMoments{call.operand<const float>(Name::running_mean),
                                                     call.operand<const float>(Name::running_variance)});
  });
}

}  // namespace

Variant vectorized_infer() {
  return cuda_variant(
      Op::batch_norm_infer, "vectorized", infer<Sum::last>,
      "16 bytes at a time, a ReLU and an addition behind it too; a thread keeps its channels.",
      {.chain = relu_and_sum_after(Op::batch_norm_infer)});
}
Variant summed_infer() {
  return cuda_variant(
      Op::batch_norm_infer, "summed", infer<Sum::first>,
      "An addition behind it in the same pass, and the activation of the sum.",
      {.chain = sum_and_activation_after(Op::batch_norm_infer), .stored_for_others = {Name::unactivated}});
}

}  // namespace warpscope::ops::batch_norm
