// labels.gather, variant `loops`: one label after the other. Over `reference` it adds that nothing is
// divided.
// Limits: none on the shape; one thread. Source: labels.cpp.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::labels {
namespace {

void gather(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto* labels = call.operand<const std::uint8_t>(Name::all_labels);
  const auto* order = call.operand<const std::uint32_t>(Name::order);
  auto* output = call.operand<std::uint8_t>(Name::labels);
  std::int64_t position = call.operand<const step::StepControl>(Name::control)->position % s.count;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    output[n] = labels[order[position]];
    if (++position == s.count) position = 0;
  }
}

}  // namespace

Variant loops_gather() {
  return loops_variant(Op::labels_gather, gather, "A loop over the images of the batch on one thread.");
}

}  // namespace warpscope::ops::labels
