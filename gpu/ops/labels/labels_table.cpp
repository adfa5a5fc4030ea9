#include "gpu/ops/labels/labels.h"
#include "gpu/ops/labels/labels_variants.h"

namespace warpscope::ops::labels {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_gather(), loops_gather()};
#if WARPSCOPE_HAVE_CUDA
  list.push_back(naive_gather());
#endif
  return list;
}

}  // namespace warpscope::ops::labels
