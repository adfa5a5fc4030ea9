// step.record and micro_batch.record, variant `loops`: the bookkeeping of step.h; metrics and statistics are
// FP32 in every precision. Limits: none. Source: step.h.

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/step/step_host.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::step {
namespace {

Variant loops(Op op, void (*launch)(const OpCall&)) {
  return loops_variant(op, launch, "The bookkeeping on the host, metrics in FP32.");
}

}  // namespace

Variant loops_record() {
  return loops(Op::step_record, record_on_host<float>);
}
Variant loops_micro_batch() {
  return loops(Op::micro_batch_record, record_micro_batch_on_host<float>);
}

}  // namespace warpscope::ops::step
