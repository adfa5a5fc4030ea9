// The variants `split_k` and `split_k_fused` of linear; their kernels are in linear_split_k_forward.cu and
// linear_split_k_backward.cu.

#include "gpu/ops/arrivals.h"
#include "gpu/ops/chains.h"
#include "gpu/ops/linear/backward_chain.h"
#include "gpu/ops/linear/split_k.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

using split_k::Pair;

/// How a call is cut.
Pair cuts(Op op, const OpShape& shape, core::Precision precision) {
  if (op == Op::linear_forward) return {split_k::best_cut(split_k::forward_product(shape), precision), {}};
  const split_k::Product input = split_k::backward_input_product(shape);
  if (op == Op::linear_backward_input) return {split_k::best_cut(input, precision), {}};
  const split_k::Product weights = split_k::backward_weights_product(shape);
  const bool both = shape.covered.has(Op::linear_backward_input);
  return split_k::best_pair(weights, both ? input : split_k::Product{}, precision);
}

template <Op Which>
std::size_t workspace(const OpShape& shape, core::Precision precision) {
  const Pair pair = cuts(Which, shape, precision);
  return split_k::parts_bytes(pair.first) + split_k::parts_bytes(pair.second);
}

template <Op Which>
std::unique_ptr<Prepared> prepare(const OpCall& call) {
  const Pair pair = cuts(Which, call.shape, call.precision);
  return std::make_unique<Arrivals>(*call.context->device, std::size_t{pair.first.tiles} + pair.second.tiles);
}

template <Op Which>
void launch(const OpCall& call) {
  const Pair pair = cuts(Which, call.shape, call.precision);
  if constexpr (Which == Op::linear_forward) {
    split_k::launch_forward(call, pair.first);
  } else if constexpr (Which == Op::linear_backward_input) {
    split_k::launch_backward_input(call, pair.first);
  } else {
    split_k::launch_backward_weights(call, pair);
  }
}

template <Op Which>
Variant split_k_variant(const std::vector<Link>& chain, const char* summary,
                        const std::vector<Name>& stored = {}) {
  return cuda_variant(Which, chain.empty() ? "split_k" : "split_k_fused", launch<Which>, summary,
                      {.precisions = {core::Precision::fp32, core::Precision::tf32, core::Precision::fp16,
                                      core::Precision::bf16},
                       .minimum_compute_capability = 80,
                       .chain = chain,
                       .stored_for_others = stored,
                       .workspace_bytes = workspace<Which>,
                       .prepare = prepare<Which>});
}

constexpr const char* kSummary =
    "Loads run ahead of the sums, on the tensor cores but in FP32; blocks share deep sums, the last one "
    "adds.";

}  // namespace

Variant split_k_forward() {
  return split_k_variant<Op::linear_forward>({}, kSummary);
}
Variant split_k_fused_forward() {
  return split_k_variant<Op::linear_forward>(bias_and_activation_after(Op::linear_forward),
                                             "The bias and the activation join the sums in registers.",
                                             {Name::unactivated});
}
Variant split_k_backward_input() {
  return split_k_variant<Op::linear_backward_input>({}, kSummary);
}
Variant split_k_backward_weights() {
  return split_k_variant<Op::linear_backward_weights>({}, kSummary);
}
Variant split_k_fused_backward_weights() {
  return split_k_variant<Op::linear_backward_weights>(
      backward_chain(),
      "One launch for a layer's backward pass: the bias's gradient and the input's come with the weights'.");
}

}  // namespace warpscope::ops::linear
