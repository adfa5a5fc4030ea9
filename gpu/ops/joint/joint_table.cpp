#include "gpu/ops/joint/joint.h"
#include "gpu/ops/joint/joint_variants.h"

namespace warpscope::ops::joint {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_weigh(), loops_weigh()};
#if WARPSCOPE_HAVE_CUDA
  list.push_back(naive_weigh());
#endif
  return list;
}

}  // namespace warpscope::ops::joint
