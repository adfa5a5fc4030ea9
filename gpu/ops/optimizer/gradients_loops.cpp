// gradients.accumulate, gradients.keep and gradients.norm, variant `loops`: loops over the gradients, which
// are FP32 in every precision. Sums of squares are taken in double: no square of a finite FP32 number
// overflows there, so a sum is finite just if all gradients are. Limits: one thread. Source: optimizer.cpp.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/optimizer/shards.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {
namespace {

void accumulate(const OpCall& call) {
  const float* gradients = call.operand<const float>(Name::gradients);
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  float* sums = call.operand<float>(Name::sums);
  const float share = 1.0f / static_cast<float>(control.micro_batches);
  const std::int64_t count = call.shape.count;
  const ShardPlace place = place_of(control, call.shape.shards);
  if (place.first) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] = share * gradients[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += share * gradients[i];
  }
  for (int slot = 1; slot <= place.waiting; ++slot) {
    const float* waiting = sums + slot * count;
    for (std::int64_t i = 0; i < count; ++i) sums[i] += waiting[i];
  }
  if (place.slot > 0) std::copy_n(sums, count, sums + place.slot * count);
}

void keep(const OpCall& call) {
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  const std::int64_t row = control.micro_batch % call.shape.batch;
  std::memcpy(call.operand<float>(Name::kept) + row * call.shape.count,
              call.operand<const float>(Name::gradients),
              static_cast<std::size_t>(call.shape.count) * sizeof(float));
}

void norm(const OpCall& call) {
  const float* gradients = call.operand<const float>(Name::gradients);
  float* parts = call.operand<float>(Name::norm_parts);
  const std::int64_t length = slice_length(call.shape.count);
  bool finite = true;
  for (std::int64_t part = 0; part < kSumParts; ++part) {
    const std::int64_t end = std::min((part + 1) * length, call.shape.count);
    double sum = 0;
    for (std::int64_t i = part * length; i < end; ++i) sum += double{gradients[i]} * double{gradients[i]};
    finite = finite && std::isfinite(sum);
    parts[part] = static_cast<float>(sum);
  }
  if (!finite) call.operand<step::StepControl>(Name::control)->overflow = 1;
}

}  // namespace

Variant loops_accumulate() {
  return loops_variant(Op::gradients_accumulate, accumulate, "A loop over all gradients on one thread.");
}
Variant loops_keep() {
  return loops_variant(Op::gradients_keep, keep, "One copy of the whole buffer.");
}
Variant loops_norm() {
  return loops_variant(Op::gradients_norm, norm,
                       "A loop over all gradients on one thread, summed in double.");
}

}  // namespace warpscope::ops::optimizer
