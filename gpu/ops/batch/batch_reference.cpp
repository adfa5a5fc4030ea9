// batch.gather, variant `reference`: the formula of batch.cpp, divided in double. Limits: none. Source:
// batch.cpp.

#include <cstdint>

#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch {
namespace {

template <class T>
void gather(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto* images = call.operand<const std::uint8_t>(Name::images);
  const auto* order = call.operand<const std::uint32_t>(Name::order);
  const auto* control = call.operand<const step::StepControl>(Name::control);
  T* output = call.operand<T>(Name::output);
  const std::int64_t image_size = std::int64_t{s.height} * s.width * s.in_channels;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::int64_t image = order[(control->position + n) % s.count];
    for (std::int64_t i = 0; i < image_size; ++i) {
      output[n * image_size + i] = static_cast<T>(images[image * image_size + i] / 255.0);
    }
  }
}

void launch(const OpCall& call) {
  call.precision == core::Precision::fp64 ? gather<double>(call) : gather<float>(call);
}

}  // namespace

Variant reference_gather() {
  return {.op = Op::batch_gather,
          .name = "reference",
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "The formula element by element, divided in double: what the others are held against.",
          .launch = launch};
}

}  // namespace warpscope::ops::batch
