// batch_norm.forward and infer, variant `pooled`: the max pooling behind the batch norm, and a ReLU between them, run
// in the pass that writes. A thread normalizes 16 bytes of neighbouring channels of a whole window and writes the
// largest and its place only: what would be written, read and written again never leaves the registers. Over `welford`
// and `vectorized` it adds that. Moments are those of `welford`, by the same kernels, which also move the running
// statistics, and values are rounded to the stored type before they are compared, so that statistics, results and ties
// have the bits of the same ops apart.
//
// Limits: none on the shape; windows of 2x2, 1x2, 1x3 and 3x3 are unrolled; channels that are no multiple of 16 bytes,
// and memory that does not start at one, go an element at a time. Bound by memory: x is read twice (infer: once),
// pooled values and a byte for each are written. At most 78 registers, no shared memory, no spills, beside those of
// welford_moments.cuh; workspace: that of these. Source: batch_norm.cpp; maxpool2d.cpp; columns.cuh.

#include "gpu/ops/batch_norm/normalize_columns.cuh"
#include "gpu/ops/batch_norm/normalize_windows.cuh"
#include "gpu/ops/batch_norm/welford_moments.cuh"
#include "gpu/ops/chains.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

void forward(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    pool_windows<T>(call, find_moments<T>(call, call.operand<float>(Name::statistics)));
  });
}

void infer(const OpCall& call) {
  with_storage(call.precision, [&]<class T>(T) {
    pool_windows<T>(call, RunningMoments{call.operand<const float>(Name::running_mean),
                                         call.operand<const float>(Name::running_variance)});
  });
}

}  // namespace

Variant pooled_forward() {
  return cuda_variant(Op::batch_norm_forward, "pooled", forward,
                      "Moments as welford; a max pooling, and a ReLU before it, in the pass that writes.",
                      {.chain = tracking(pooling_after(Op::batch_norm_forward)),
                       .stored = {Name::statistics},
                       .workspace_bytes = welford_workspace});
}

Variant pooled_infer() {
  return cuda_variant(Op::batch_norm_infer, "pooled", infer,
                      "A max pooling, and a ReLU before it, in the same pass, which writes nothing else.",
                      {.chain = pooling_after(Op::batch_norm_infer)});
}

}  // namespace warpscope::ops::batch_norm
