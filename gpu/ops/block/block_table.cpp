#include "gpu/ops/block/block.h"
#include "gpu/ops/block/block_variants.h"

namespace warpscope::ops::block {

std::vector<Variant> variants() {
  std::vector<Variant> list{reference_forward(),          loops_forward(),
                            reference_backward_weights(), loops_backward_weights(),
                            reference_backward_input(),   loops_backward_input()};
  for (const Op op : {Op::block_forward, Op::block_backward_weights, Op::block_backward_input}) {
    list.push_back(parts(op, core::DeviceKind::cpu));
    list.push_back(parts(op, core::DeviceKind::cuda));
  }
#if WARPSCOPE_HAVE_CUDA
  list.insert(list.end(), {fused_forward(), fused_backward_weights(), fused_backward_input()});
#if WARPSCOPE_HAVE_HOPPER
  list.insert(list.end(), {hopper_forward(), hopper_backward_weights(), hopper_backward_input()});
#endif
#endif
  return list;
}

}  // namespace warpscope::ops::block
