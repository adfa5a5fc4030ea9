// joint.weigh, variant `reference`: the formula of joint.cpp, multiplied in double. Limits: none. Source: joint.cpp.

#include <cmath>
#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::joint {
namespace {

template <class T>
void weigh(const OpCall& call) {
  const T* dy = call.operand<const T>(Name::output_gradient);
  T* dz = call.operand<T>(Name::gradient);
  const double share = double{call.operand<const step::StepControl>(Name::control)->joint};
  const std::int64_t elements = sizes::features_in(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) dz[i] = static_cast<T>(share * double{dy[i]});
  const T head_loss = *call.operand<const T>(Name::head_loss);
  if (!std::isfinite(head_loss)) *call.operand<T>(Name::loss) = head_loss;
}

}  // namespace

Variant reference_weigh() {
  return reference_variant(
      Op::joint_weigh, in_either_width<weigh<float>, weigh<double>>,
      "The formula element by element, multiplied in double: what the others are held against.");
}

}  // namespace warpscope::ops::joint
