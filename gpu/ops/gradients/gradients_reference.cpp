// gradients.check, variant `reference`: each gradient asked in turn, in either element type. Limits: none.
// Source: gradients.h.

#include <algorithm>
#include <cmath>

#include "gpu/ops/gradients/gradients.h"
#include "gpu/ops/gradients/gradients_variants.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::gradients {
namespace {

template <class T>
void check(const OpCall& call) {
  const T* gradients = call.operand<const T>(kCheckGradients);
  const bool finite = std::all_of(gradients, gradients + call.shape.count,
                                  [](T gradient) { return std::isfinite(gradient); });
  if (!finite) call.operand<step::StepControl>(kCheckControl)->overflow = 1;
}

void launch(const OpCall& call) {
  call.precision == core::Precision::fp64 ? check<double>(call) : check<float>(call);
}

}  // namespace

Variant reference_check() {
  return {.op = Op::gradients_check,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "Asks each gradient whether it is finite: what the others are held against.",
          .launch = launch};
}

}  // namespace warpscope::ops::gradients
