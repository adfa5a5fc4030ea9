// running.begin and running.end, variant `reference`: running.cpp as it is written. Limits: none. Source: running.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::running {
namespace {

constexpr const char* kSummary = "One number after the other: what the others are held against.";

template <class T>
void begin(const OpCall& call) {
  const bool first = call.operand<const step::StepControl>(Name::control)->micro_batch == 0;
  T* running = call.operand<T>(Name::running);
  T* saved = call.operand<T>(Name::saved);
  for (std::int64_t i = 0; i < call.shape.count; ++i)
    (first ? saved[i] : running[i]) = first ? running[i] : saved[i];
}

template <class T>
void end(const OpCall& call) {
  const T* sums = call.operand<const T>(Name::sums);
  T* running = call.operand<T>(Name::running);
  for (std::int64_t i = 0; i < call.shape.count; ++i) running[i] = sums[i];
}

}  // namespace

Variant reference_begin() {
  return reference_variant(Op::running_begin, in_either_width<begin<float>, begin<double>>, kSummary);
}
Variant reference_end() {
  return reference_variant(Op::running_end, in_either_width<end<float>, end<double>>, kSummary);
}

}  // namespace warpscope::ops::running
