#include "gpu/ops/joint/joint.h"

namespace warpscope::ops::joint {

// Each is defined in the file named for its variant.
Variant reference_weigh(), loops_weigh();
#if WARPSCOPE_HAVE_CUDA
Variant naive_weigh();
#endif

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_weigh(), loops_weigh()};
#if WARPSCOPE_HAVE_CUDA
  list.push_back(naive_weigh());
#endif
  return list;
}

}  // namespace warpscope::ops::joint
