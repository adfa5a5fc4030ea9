// block, variant `parts`: no block at all. Where it is selected, the network runs layer by layer, each op with its own
// variant. Source: none.

#include "gpu/ops/block/block_variants.h"

namespace warpscope::ops::block {

Variant parts(Op op, core::DeviceKind device) {
  using enum core::Precision;
  const bool cpu = device == core::DeviceKind::cpu;
  return {.op = op,
          .name = "parts",
          .device = device,
          .precisions = cpu ? std::vector{fp32, bf16} : std::vector{fp32, tf32, fp16, bf16},
          .summary = "No block: the layers run one by one, each with its own variant."};
}

}  // namespace warpscope::ops::block
