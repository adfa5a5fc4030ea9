// block, variant `loops`: the loops of the layers, one after another. It saves no memory traffic and is no faster than the
// layers by themselves: it shows on a CPU what blocks do. Limits: one thread. Source: block.h.

#include "gpu/ops/block/block_layers.h"
#include "gpu/ops/block/block_variants.h"
#include "gpu/ops/loops_storage.h"

namespace warpscope::ops::block {
namespace {

constexpr const char* kName = "loops";

template <auto Layers>
void launch(const OpCall& call) {
  Layers(call, kName);
}

Variant loops(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = kName,
          .precisions = loops_precisions(),
          .summary = "The loops of the layers one after another, on one thread.",
          .launch = run};
}

}  // namespace

Variant loops_forward() {
  return loops(Op::block_forward, launch<layers_forward>);
}
Variant loops_backward_weights() {
  return loops(Op::block_backward_weights, launch<layers_backward_weights>);
}
Variant loops_backward_input() {
  return loops(Op::block_backward_input, launch<layers_backward_input>);
}

}  // namespace warpscope::ops::block
