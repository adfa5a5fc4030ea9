// batch.augment, variant `reference`: the formula of augment.cpp, in double whatever the element type. Limits:
// none. Source: augment.cpp.

#include "gpu/ops/augment/augment_host.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::augment {
namespace {

template <class T>
void augment_in_double(const OpCall& call) {
  T* output = call.operand<T>(Name::output);
  augment_on_host<double>(call,
                          [output](std::int64_t i, double value) { output[i] = static_cast<T>(value); });
}

}  // namespace

Variant reference_augment() {
  return reference_variant(Op::batch_augment,
                           in_either_width<augment_in_double<float>, augment_in_double<double>>,
                           "The formula element by element, in double: what the others are held against.");
}

}  // namespace warpscope::ops::augment
