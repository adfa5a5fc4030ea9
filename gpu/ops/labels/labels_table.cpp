#include "gpu/ops/labels/labels.h"

namespace warpscope::ops::labels {

// Each is defined in the file named for its variant.
Variant reference_gather(), loops_gather();
#if WARPSCOPE_HAVE_CUDA
Variant naive_gather();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_gather(), loops_gather()};
#if WARPSCOPE_HAVE_CUDA
  list.push_back(naive_gather());
#endif
  return list;
}

}  // namespace warpscope::ops::labels
