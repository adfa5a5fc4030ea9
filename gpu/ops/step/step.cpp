#include "gpu/ops/step/step.h"

#include <array>

#include "gpu/ops/optimizer/shards.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::step {
namespace {

std::int64_t ring(const OpShape& s) {
  return s.count * static_cast<std::int64_t>(sizeof(StepRecord));
}
std::int64_t metric_slots(const OpShape& s) {
  return optimizer::slots_of(s.shards) * sizes::step_metrics(s);
}
std::int64_t metric_terms(const OpShape& s) {
  return 1 + optimizer::slots_of(s.shards);
}
OpShape one_record(const OpShape& s) {
  OpShape touched = s;
  touched.count = 1;
  return touched;
}
std::string describe_record(const OpShape&) {
  return "1 record";
}

constexpr std::array kMicroBatch{Operand{Name::metrics, Access::read, Role::scalar, sizes::step_metrics},
                                 Operand{Name::control, Access::update, Role::control, sizes::step_control},
                                 Operand{Name::sums, Access::update, Role::scalar, metric_slots}};
constexpr std::array kRecord{Operand{Name::metrics, Access::read, Role::scalar, sizes::step_metrics},
                             Operand{Name::statistics, Access::read, Role::scalar, sizes::step_statistics},
                             Operand{Name::control, Access::update, Role::control, sizes::step_control},
                             Operand{Name::ring, Access::update, Role::control, ring}};

}  // namespace

OpContract micro_batch_contract() {
  return {.name = "micro_batch.record",
          .summary = "mean loss over the micro-batches, on to the next one",
          .operands = kMicroBatch,
          .terms = metric_terms,
          .describe = describe_record,
          .parameters = {Parameter::shards},
          .scope = Scope::parameters};
}

OpContract record_contract() {
  return {.name = "step.record",
          .summary = "note the loss, advance to the next batch",
          .operands = kRecord,
          .describe = describe_record,
          .scope = Scope::parameters,
          .touched = one_record};
}

WARPSCOPE_VARIANTS(reference_record(), reference_micro_batch(), loops_record(),
                   loops_micro_batch() WARPSCOPE_IF_CUDA(, naive_record(), naive_micro_batch()))

}  // namespace warpscope::ops::step
