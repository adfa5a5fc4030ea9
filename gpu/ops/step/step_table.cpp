#include "gpu/ops/step/step.h"
#include "gpu/ops/step/step_variants.h"

namespace warpscope::ops::step {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_record(), loops_record()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_record()});
#endif
  return list;
}

}  // namespace warpscope::ops::step
