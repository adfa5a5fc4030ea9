// block, variant `reference`: the references of the layers, one after another. Limits: none. Source: block.h.

#include "gpu/ops/block/block_layers.h"
#include "gpu/ops/block/block_variants.h"

namespace warpscope::ops::block {
namespace {

constexpr const char* kName = "reference";

template <auto Layers>
void launch(const OpCall& call) {
  Layers(call, kName);
}

Variant reference(Op op, void (*run)(const OpCall&)) {
  return {.op = op,
          .name = kName,
          .precisions = {core::Precision::fp32, core::Precision::fp64},
          .summary = "The references of the layers one after another: what the others are held against.",
          .launch = run};
}

}  // namespace

Variant reference_forward() {
  return reference(Op::block_forward, launch<layers_forward>);
}
Variant reference_backward_weights() {
  return reference(Op::block_backward_weights, launch<layers_backward_weights>);
}
Variant reference_backward_input() {
  return reference(Op::block_backward_input, launch<layers_backward_input>);
}

}  // namespace warpscope::ops::block
