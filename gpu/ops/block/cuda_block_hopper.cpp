// block, variant `hopper`: for each shape the best kernel for Hopper (compute capability 9.0). Over `fused` it adds: blocks with
// channels in multiples of 64 on wgmma, fed by the tensor memory accelerator (hopper_*.cu); blocks with few channels on one
// side, bound by memory, in one pass (narrow_*.cu). Other shapes run as `fused`, and the wide blocks' backward_weights in TF32.
// Limits: TF32, FP16 and BF16; built as sm_90a, so that no other architecture can run it. Source: the files named.

#include <vector>

#include "gpu/ops/block/block_variants.h"
#include "gpu/ops/block/hopper_wide.h"
#include "gpu/ops/block/narrow.h"

namespace warpscope::ops::block {
namespace {

/// One way to run an op.
struct Route {
  bool (*takes)(const OpShape&, core::Precision);
  std::size_t (*workspace)(const OpShape&, core::Precision);
  void (*launch)(const OpCall&);
};

template <bool (*Takes)(const OpShape&)>
bool in_any_precision(const OpShape& shape, core::Precision) {
  return Takes(shape);
}

template <bool (*Takes)(const OpShape&)>
bool in_16_bits(const OpShape& shape, core::Precision precision) {
  return precision != core::Precision::tf32 && Takes(shape);
}

bool takes_all(const OpShape&, core::Precision) {
  return true;
}

const Variant& fused_of(Op op) {
  static const Variant forward = fused_forward();
  static const Variant backward_weights = fused_backward_weights();
  static const Variant backward_input = fused_backward_input();
  return op == Op::block_forward          ? forward
         : op == Op::block_backward_input ? backward_input
                                          : backward_weights;
}

template <Op Which>
std::size_t fused_workspace(const OpShape& shape, core::Precision precision) {
  return workspace_bytes(fused_of(Which), shape, precision);
}

template <Op Which>
void fused_launch(const OpCall& call) {
  fused_of(Which).launch(call);
}

template <Op Which>
const std::vector<Route>& routes();

template <>
const std::vector<Route>& routes<Op::block_forward>() {
  static const std::vector<Route> all{
      {in_any_precision<hopper::forward::takes>, hopper::forward::workspace, hopper::forward::launch},
      {in_any_precision<narrow::input_forward::takes>, narrow::input_forward::workspace,
       narrow::input_forward::launch},
      {in_any_precision<narrow::output_forward::takes>, narrow::output_forward::workspace,
       narrow::output_forward::launch},
      {takes_all, fused_workspace<Op::block_forward>, fused_launch<Op::block_forward>}};
  return all;
}

template <>
const std::vector<Route>& routes<Op::block_backward_weights>() {
  static const std::vector<Route> all{
      {in_16_bits<hopper::backward_weights::takes>, hopper::backward_weights::workspace,
       hopper::backward_weights::launch},
      {in_any_precision<narrow::input_backward_weights::takes>, narrow::input_backward_weights::workspace,
       narrow::input_backward_weights::launch},
      {in_any_precision<narrow::output_backward_weights::takes>, narrow::output_backward_weights::workspace,
       narrow::output_backward_weights::launch},
      {takes_all, fused_workspace<Op::block_backward_weights>, fused_launch<Op::block_backward_weights>}};
  return all;
}

template <>
const std::vector<Route>& routes<Op::block_backward_input>() {
  static const std::vector<Route> all{
      {in_any_precision<hopper::backward_input::takes>, hopper::backward_input::workspace,
       hopper::backward_input::launch},
      {in_any_precision<narrow::output_backward_input::takes>, narrow::output_backward_input::workspace,
       narrow::output_backward_input::launch},
      {takes_all, fused_workspace<Op::block_backward_input>, fused_launch<Op::block_backward_input>}};
  return all;
}

template <Op Which>
const Route& route(const OpShape& shape, core::Precision precision) {
  for (const Route& each : routes<Which>()) {
    if (each.takes(shape, precision)) return each;
  }
  return routes<Which>().back();
}

template <Op Which>
std::size_t workspace(const OpShape& shape, core::Precision precision) {
  return route<Which>(shape, precision).workspace(shape, precision);
}

template <Op Which>
void launch(const OpCall& call) {
  route<Which>(call.shape, call.precision).launch(call);
}

template <Op Which>
Variant hopper_variant() {
  Variant variant = fused_of(Which);
  variant.name = "hopper";
  variant.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 90;
  variant.only_compute_capability = 90;
  variant.summary = "wgmma fed by TMA for wide blocks, one pass through memory for those with 3 channels.";
  variant.launch = launch<Which>;
  variant.workspace_bytes = workspace<Which>;
  return variant;
}

}  // namespace

Variant hopper_forward() {
  return hopper_variant<Op::block_forward>();
}
Variant hopper_backward_weights() {
  return hopper_variant<Op::block_backward_weights>();
}
Variant hopper_backward_input() {
  return hopper_variant<Op::block_backward_input>();
}

}  // namespace warpscope::ops::block
