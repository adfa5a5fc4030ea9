// gradients.accumulate, gradients.keep and gradients.norm, variant `reference`: the formulas of optimizer.cpp
// in double.
// Limits: none. Source: optimizer.cpp.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {
namespace {

template <class T>
void accumulate(const OpCall& call) {
  const T* gradients = call.operand<const T>(Name::gradients);
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  T* sums = call.operand<T>(Name::sums);
  const std::int64_t count = call.shape.count;
  const auto each = control.micro_batches / static_cast<std::uint32_t>(call.shape.shards);
  const bool begins = control.micro_batch % each == 0;
  const bool ends = control.micro_batch % each == each - 1;
  const std::uint32_t done = control.micro_batch / each + 1;  // shards, where this one ends
  for (std::int64_t i = 0; i < count; ++i) {
    const double before = begins ? 0.0 : double{sums[i]};
    double sum = before + double{gradients[i]} / control.micro_batches;
    int level = 0;
    for (; ends && done % (2u << level) == 0; ++level) sum += double{sums[(level + 1) * count + i]};
    const bool whole = !ends || done == static_cast<std::uint32_t>(call.shape.shards);
    sums[i] = static_cast<T>(sum);
    if (!whole) sums[(level + 1) * count + i] = static_cast<T>(sum);
  }
}

template <class T>
void keep(const OpCall& call) {
  const T* gradients = call.operand<const T>(Name::gradients);
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  const std::int64_t row = control.micro_batch % call.shape.batch;
  std::copy_n(gradients, call.shape.count, call.operand<T>(Name::kept) + row * call.shape.count);
}

template <class T>
void norm(const OpCall& call) {
  const T* gradients = call.operand<const T>(Name::gradients);
  T* parts = call.operand<T>(Name::norm_parts);
  const std::int64_t count = call.shape.count;
  for (std::int64_t part = 0; part < kSumParts; ++part) {
    const std::int64_t end = std::min(count, (part + 1) * slice_length(count));
    double sum = 0;
    for (std::int64_t i = part * slice_length(count); i < end; ++i) {
      sum += double{gradients[i]} * double{gradients[i]};
    }
    parts[part] = static_cast<T>(sum);
  }
  const bool finite =
      std::all_of(gradients, gradients + count, [](T gradient) { return std::isfinite(gradient); });
  if (!finite) call.operand<step::StepControl>(Name::control)->overflow = 1;
}

}  // namespace

Variant reference_accumulate() {
  return reference_variant(Op::gradients_accumulate, in_either_width<accumulate<float>, accumulate<double>>);
}
Variant reference_keep() {
  return reference_variant(Op::gradients_keep, in_either_width<keep<float>, keep<double>>,
                           "A copy of one row: what the others are held against.");
}
Variant reference_norm() {
  return reference_variant(Op::gradients_norm, in_either_width<norm<float>, norm<double>>);
}

}  // namespace warpscope::ops::optimizer
