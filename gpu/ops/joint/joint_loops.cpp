// joint.weigh, variant `loops`: one loop, in FP32. Limits: one thread. Source: joint.cpp.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::joint {
namespace {

template <class T>
void weigh(const OpCall& call) {
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dz = call.operand<T>(Name::gradient);
  const float share = call.operand<const step::StepControl>(Name::control)->joint;
  const std::int64_t elements = sizes::features_in(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) dz[i] = from_float<T>(share * to_float(dy[i]));
  const float head_loss = *call.operand<const float>(Name::head_loss);
  if (!step::is_finite(head_loss)) *call.operand<float>(Name::loss) = head_loss;
}

}  // namespace

Variant loops_weigh() {
  return loops_variant(Op::joint_weigh, by_storage<weigh<float>, weigh<BFloat16>>,
                       "A loop over the logits on one thread.");
}

}  // namespace warpscope::ops::joint
