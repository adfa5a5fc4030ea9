#include "gpu/ops/bias/bias.h"
#include "gpu/ops/bias/bias_variants.h"

namespace warpscope::ops::bias {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(), loops_forward(), onednn_forward()};
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {naive_forward(), vectorized_forward()});
#endif
  return list;
}

}  // namespace warpscope::ops::bias
