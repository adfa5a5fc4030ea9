// step.record and micro_batch.record, variant `reference`: the bookkeeping of step.h, metrics and statistics
// taken in either element type. Limits: none. Source: step.h.

#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step_host.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::step {
namespace {

constexpr const char* kSummary = "The bookkeeping as step.h states it: what the others are held against.";

}  // namespace

Variant reference_record() {
  return reference_variant(Op::step_record, in_either_width<record_on_host<float>, record_on_host<double>>,
                           kSummary);
}
Variant reference_micro_batch() {
  return reference_variant(
      Op::micro_batch_record,
      in_either_width<record_micro_batch_on_host<float>, record_micro_batch_on_host<double>>, kSummary);
}

}  // namespace warpscope::ops::step
