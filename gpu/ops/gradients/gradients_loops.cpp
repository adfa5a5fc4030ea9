// gradients.check, variant `loops`: one loop over all gradients without a way out, which the compiler turns
// into vector compares: a step in which one overflows is rare. Limits: one thread. Source: gradients.h.

#include <cmath>
#include <cstdint>
#include <limits>

#include "gpu/ops/gradients/gradients.h"
#include "gpu/ops/gradients/gradients_variants.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::gradients {
namespace {

void launch(const OpCall& call) {
  const float* gradients = call.operand<const float>(kCheckGradients);
  constexpr float kLargest = std::numeric_limits<float>::max();
  int overflowed = 0;
  // A NaN compares false with everything.
  for (std::int64_t i = 0; i < call.shape.count; ++i) overflowed |= !(std::fabs(gradients[i]) <= kLargest);
  if (overflowed != 0) call.operand<step::StepControl>(kCheckControl)->overflow = 1;
}

}  // namespace

Variant loops_check() {
  return {.op = Op::gradients_check,
          .name = "loops",
          .precisions = loops_precisions(),
          .summary = "A loop over all gradients on one thread.",
          .launch = launch};
}

}  // namespace warpscope::ops::gradients
