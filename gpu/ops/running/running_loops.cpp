// running.begin and running.end, variant `loops`: copies of whole buffers, which are FP32 in every precision. Limits:
// none. Source: running.cpp.

#include <algorithm>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::running {
namespace {

void begin(const OpCall& call) {
  const float* from = call.operand<const float>(Name::running);
  float* to = call.operand<float>(Name::saved);
  if (call.operand<const step::StepControl>(Name::control)->micro_batch != 0) {
    from = call.operand<const float>(Name::saved);
    to = call.operand<float>(Name::running);
  }
  std::copy_n(from, call.shape.count, to);
}

void end(const OpCall& call) {
  std::copy_n(call.operand<const float>(Name::sums), call.shape.count, call.operand<float>(Name::running));
}

}  // namespace

Variant loops_begin() {
  return loops_variant(Op::running_begin, begin, "One copy of the buffer.");
}
Variant loops_end() {
  return loops_variant(Op::running_end, end, "One copy of the buffer.");
}

}  // namespace warpscope::ops::running
