// batch.augment, variant `loops`: image by image in FP32, rounded to what is stored. Over `reference` it adds
// FP32 and BF16 only. Limits: none on the shape; one thread. Source: augment.cpp.

#include "gpu/ops/augment/augment_host.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::augment {
namespace {

template <class T>
void augment_in_float(const OpCall& call) {
  T* output = call.operand<T>(Name::output);
  augment_on_host<float>(call, [output](std::int64_t i, float value) { output[i] = from_float<T>(value); });
}

}  // namespace

Variant loops_augment() {
  return loops_variant(Op::batch_augment, by_storage<augment_in_float<float>, augment_in_float<BFloat16>>,
                       "A loop over the images of the batch on one thread.");
}

}  // namespace warpscope::ops::augment
