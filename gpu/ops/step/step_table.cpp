#include "gpu/ops/step/step.h"

namespace warpscope::ops::step {

// Each is defined in the file named for its variant.
Variant reference_record(), reference_micro_batch(), loops_record(), loops_micro_batch();
#if WARPSCOPE_HAVE_CUDA
Variant naive_record(), naive_micro_batch();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_record(), reference_micro_batch(), loops_record(), loops_micro_batch()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_record(), naive_micro_batch()});
#endif
  return list;
}

}  // namespace warpscope::ops::step
