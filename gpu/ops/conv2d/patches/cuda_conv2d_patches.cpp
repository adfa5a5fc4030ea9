// conv2d.forward, backward_input and backward_weights, variants `patches`: over `fused` they read each pixel once for
// all taps, where channels are so few that the reads, not the products, take the time. Bias and activation, or the
// gradient that comes from another reader of the input and the derivative of the activation before, are done on the way
// out.
//
// Limits: FP16 and BF16; patches.h.

#include <cstdint>
#include <utility>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/activated_chain.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/patches/patches.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace patches {
namespace {

/// Products of an output from which on a pass for pooling costs less than they save here.
constexpr std::int64_t kProductsWorthAPass = 100;

void limit(Variant& more) {
  more.precisions = {core::Precision::fp16, core::Precision::bf16};
  more.minimum_compute_capability = 80;
  more.special = true;
  more.yields_to = [](const OpShape& shape) { return better_covered(shape, kProductsWorthAPass); };
}

void launch(const OpCall& call, const Problem& problem, const Tensors& tensors) {
  if (call.precision == core::Precision::fp16) return launch_fp16(call, problem, tensors);
  launch_bf16(call, problem, tensors);
}

void forward(const OpCall& call) {
  const Activation kind = activation_of(call.shape.covered);
  launch(call, forward_problem(call.shape),
         {.input = call.operand<const void>(Name::input),
          .weights = call.operand<const void>(Name::weights),
          .bias = call.operand<const void>(Name::bias),
          .mask = nullptr,
          .beside = nullptr,
          .addend = nullptr,
          .kept = call.operand<void>(Name::unactivated),
          .out = call.operand<void>(Name::output),
          .relu = kind == Activation::relu,
          .after = kind == Activation::relu ? Activation::none : kind});
}

void backward_input(const OpCall& call) {
  const Activation derivative = derivative_of(call.shape.covered);
  const bool masks = derivative == Activation::relu && !call.covers(Op::add_forward);
  const void* read = derivative_operand(call);
  launch(call, backward_input_problem(call.shape),
         {.input = call.operand<const void>(Name::output_gradient),
          .weights = call.operand<const void>(Name::weights),
          .bias = nullptr,
          .mask = masks ? read : nullptr,
          .beside = masks ? nullptr : read,
          .addend = call.operand<const void>(Name::addend),
          .kept = nullptr,
          .out = call.operand<void>(Name::input_gradient),
          .relu = false,
          .after = masks ? Activation::none : derivative});
}

void backward_weights(const OpCall& call) {
  launch_weights(call, backward_weights_problem(call.shape));
}

}  // namespace
}  // namespace patches

Variant patches_forward() {
  Variant more;
  patches::limit(more);
  more.chain = activated_forward_chain();
  more.stored_for_others = {Name::unactivated};
  more.refuses = patches::refuses_forward;
  return cuda_variant(Op::conv2d_forward, "patches", patches::forward,
                      "For few channels: a block reads each pixel of a patch once for all taps.",
                      std::move(more));
}

Variant patches_backward_input() {
  Variant more;
  patches::limit(more);
  more.chain = summed_gradient_chain();
  more.refuses = patches::refuses_backward_input;
  return cuda_variant(Op::conv2d_backward_input, "patches", patches::backward_input,
                      "The product of forward with turned weights, each pixel read once for all taps.",
                      std::move(more));
}

Variant patches_backward_weights() {
  Variant more;
  patches::limit(more);
  more.chain = {{.op = Op::conv2d_backward_weights}, {.op = Op::conv2d_backward_bias, .optional = true}};
  more.workspace_bytes = [](const OpShape& shape, core::Precision) {
    const patches::Problem q = patches::backward_weights_problem(shape);
    return sizeof(float) * static_cast<std::size_t>(patches::splits_of(q)) *
           static_cast<std::size_t>(patches::split_elements(q));
  };
  more.refuses = patches::refuses_backward_weights;
  return cuda_variant(Op::conv2d_backward_weights, "patches", patches::backward_weights,
                      "Sums of all taps in registers while a block goes over patches of both tensors.",
                      std::move(more));
}

}  // namespace warpscope::ops::conv2d
