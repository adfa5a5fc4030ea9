// batch.augment, variant `naive`: the first rung on CUDA. One thread per element of the batch draws all that is
// drawn for its image, and reads one byte, or the three of a pixel where colours change. Limits: none on the
// shape; each image's numbers are drawn once for each of its elements. Bound by arithmetic. At most 48
// registers (60 on compute capability 7.5), no shared memory, no spills. Source: augment.h.

#include "gpu/ops/augment/augment.h"
#include "gpu/ops/augment/augment_elements.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::augment {
namespace {

void augment_naive(const OpCall& call) {
  with_storage(call.precision, [&](auto storage) { augment_elements<decltype(storage)>(call); });
  core::check_launch("batch.augment naive");
}

}  // namespace

Variant naive_augment() {
  return {.op = Op::batch_augment,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .presets = {{"naive"}, {"atomic"}, {"atomic_free"}},
          .summary = "One thread per element of the batch draws what its image needs.",
          .launch = augment_naive};
}

}  // namespace warpscope::ops::augment
