// batch.gather, variant `loops`: one image after the other, each walked through pointers, FP32 rounded to
// what is stored. Over `reference` it adds FP32 and BF16 only. Limits: none on the shape; one thread.
// Source: batch.cpp.

#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch {
namespace {

template <class T>
void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto* images = call.operand<const std::uint8_t>(Name::images);
  const auto* order = call.operand<const std::uint32_t>(Name::order);
  T* to = call.operand<T>(Name::output);
  const std::int64_t image_size = std::int64_t{s.height} * s.width * s.in_channels;
  std::int64_t position = call.operand<const step::StepControl>(Name::control)->position % s.count;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::uint8_t* from = images + order[position] * image_size;
    for (std::int64_t i = 0; i < image_size; ++i) to[i] = from_float<T>(static_cast<float>(from[i]) / 255.0f);
    to += image_size;
    if (++position == s.count) position = 0;
  }
}

}  // namespace

Variant loops_gather() {
  return loops_variant(Op::batch_gather, by_storage<launch<float>, launch<BFloat16>>,
                       "A loop over the images of the batch on one thread.");
}

}  // namespace warpscope::ops::batch
