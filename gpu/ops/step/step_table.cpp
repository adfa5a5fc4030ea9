#include "gpu/ops/step/step.h"
#include "gpu/ops/step/step_variants.h"

namespace warpscope::ops::step {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_record(), reference_micro_batch(), loops_record(), loops_micro_batch()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_record(), naive_micro_batch()});
#endif
  return list;
}

}  // namespace warpscope::ops::step
