// batch.gather, variant `loops`: one image after the other in FP32, each walked through pointers. Over
// `reference` it adds single precision alone. Limits: none on the shape; one thread. Source: batch.h.

#include <cstdint>

#include "gpu/ops/batch/batch.h"
#include "gpu/ops/batch/batch_variants.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::batch {
namespace {

void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto* images = call.operand<const std::uint8_t>(kGatherImages);
  const auto* order = call.operand<const std::uint32_t>(kGatherOrder);
  float* to = call.operand<float>(kGatherOutput);
  const std::int64_t image_size = std::int64_t{s.height} * s.width * s.in_channels;
  std::int64_t position = call.operand<const step::StepControl>(kGatherControl)->position % s.count;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::uint8_t* from = images + order[position] * image_size;
    for (std::int64_t i = 0; i < image_size; ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
    to += image_size;
    if (++position == s.count) position = 0;
  }
}

}  // namespace

Variant loops_gather() {
  return {.op = Op::batch_gather,
          .name = "loops",
          .precisions = {core::Precision::fp32},
          .summary = "A loop over the images of the batch in FP32 on one thread.",
          .launch = launch};
}

}  // namespace warpscope::ops::batch
