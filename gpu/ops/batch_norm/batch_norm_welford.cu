// batch_norm.forward and moments, variant `welford`: mean and squares in one pass over x, 16 bytes at a time, by
// Welford's updates (welford_moments.cuh); another pass writes y. The order is one that only the shape fixes, so the
// result is the same bits every time. Over `naive` it adds wide reads, one pass less, and enough blocks to fill a GPU
// whatever the channels. A ReLU and an addition behind it run in the pass that writes y, and the running statistics
// move in the kernel that merges the moments. `summed` is the same with an addition that comes first, and an activation
// of the sum.
//
// Limits: none on the shape; channels that are no multiple of 16 bytes, and memory that does not start at one, are
// read an element at a time. Bound by memory: x is read twice, y written. At most 80 registers, 4.1 KiB of shared
// memory, no spills; workspace: about 2 KiB a channel at most. Source: batch_norm.cpp; welford_moments.cuh.

#include "gpu/ops/batch_norm/normalize_columns.cuh"
#include "gpu/ops/batch_norm/welford_moments.cuh"
#include "gpu/ops/chains.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

void forward(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    normalize_columns<T>(call, find_moments<T>(call, call.operand<float>(Name::statistics)));
  });
}

void summed_columns(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    normalize_columns<T, Sum::first>(call, find_moments<T>(call, call.operand<float>(Name::statistics)));
  });
}

void moments(const OpCall& call) {
  with_storage(call.precision,
               [&]<class T>(T) { find_moments<T>(call, call.operand<float>(Name::moments), true); });
}

}  // namespace

Variant welford_forward() {
  return cuda_variant(
      Op::batch_norm_forward, "welford", forward,
      "Mean and variance in one pass, 16 bytes at a time; partial moments merged in a fixed order, a "
      "ReLU and an addition in the pass that writes.",
      {.chain = tracking(relu_and_sum_after(Op::batch_norm_forward)),
       .stored = {Name::statistics},
       .workspace_bytes = welford_workspace});
}
Variant summed_forward() {
  return cuda_variant(Op::batch_norm_forward, "summed", summed_columns,
                      "An addition behind it in the same pass, and the activation of the sum.",
                      {.chain = tracking(sum_and_activation_after(Op::batch_norm_forward)),
                       .stored = {Name::statistics},
                       .stored_for_others = {Name::unactivated},
                       .workspace_bytes = welford_workspace});
}
Variant welford_moments() {
  return cuda_variant(Op::batch_norm_moments, "welford", moments,
                      "Mean and variance in one pass, 16 bytes at a time; partial moments merged in a fixed "
                      "order.",
                      {.workspace_bytes = welford_workspace});
}

}  // namespace warpscope::ops::batch_norm
