// batch.augment, variant `naive`: the first rung on CUDA. One thread per element of the batch draws all that is
// drawn for its image, and reads one byte, or the three of a pixel where colours change. Limits: none on the
// shape; each image's numbers are drawn once for each of its elements. Bound by arithmetic. At most 48
// registers (60 on compute capability 7.5), no shared memory, no spills. Source: augment.cpp.

#include "gpu/ops/augment/augment_elements.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::augment {
namespace {

void augment_naive(const OpCall& call) {
  with_storage(call.precision, [&](auto storage) { augment_elements<decltype(storage)>(call); });
}

}  // namespace

Variant naive_augment() {
  return naive_variant(Op::batch_augment, augment_naive,
                       "One thread per element of the batch draws what its image needs.");
}

}  // namespace warpscope::ops::augment
