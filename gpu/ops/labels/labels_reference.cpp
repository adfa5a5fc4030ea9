// labels.gather, variant `reference`: the formula of labels.cpp. Limits: none. Source: labels.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::labels {
namespace {

void gather(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto* labels = call.operand<const std::uint8_t>(Name::all_labels);
  const auto* order = call.operand<const std::uint32_t>(Name::order);
  const auto* control = call.operand<const step::StepControl>(Name::control);
  auto* output = call.operand<std::uint8_t>(Name::labels);
  for (std::int64_t n = 0; n < s.batch; ++n) output[n] = labels[order[(control->position + n) % s.count]];
}

}  // namespace

Variant reference_gather() {
  return reference_variant(Op::labels_gather, gather,
                           "The formula label by label: what the others are held against.");
}

}  // namespace warpscope::ops::labels
