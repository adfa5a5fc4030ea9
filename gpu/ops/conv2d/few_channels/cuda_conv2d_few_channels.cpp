// conv2d.forward, backward_input and backward_weights, variants `few_channels`: over `mma` they add one pass through
// memory for first layers that `narrow` and `hopper`, which run the same kernels for plain convolutions, do not take:
// with a stride, dilation or no padding, or with GELU in the same call; and for gradients of the input of last layers,
// whose output has few channels. Limits: FP16 and BF16; few_channels.h.

#include <utility>
#include <vector>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/activated_chain.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/few_channels/few_channels.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace few_channels {
namespace {

constexpr const char* kLeavesPlain = "leaves stride 1 without dilation, with padding, to narrow and hopper";

void limit(Variant& more) {
  more.precisions = {core::Precision::fp16, core::Precision::bf16};
  more.minimum_compute_capability = 80;
  more.special = true;
}

std::string refuses_call(const OpShape& s) {
  const std::string reason = refuses_forward(s);
  if (!reason.empty()) return reason;
  return is_plain(s) && !reads_input(activation_of(s.covered)) ? kLeavesPlain : "";
}

std::string refuses_weights_call(const OpShape& s) {
  const std::string reason = refuses_backward_weights(s);
  if (!reason.empty()) return reason;
  return is_plain(s) ? kLeavesPlain : "";
}

void run_forward(const OpCall& call) {
  const Activation kind = activation_of(call.shape.covered);
  forward({call.variant, call.stream, call.precision}, call.shape,
          {.input = call.operand<const void>(Name::input),
           .weights = call.operand<const void>(Name::weights),
           .bias = call.operand<const void>(Name::bias),
           .kept = call.operand<void>(Name::unactivated),
           .output = call.operand<void>(Name::output),
           .relu = kind == Activation::relu,
           .after = kind == Activation::relu ? Activation::none : kind});
}

void run_backward_input(const OpCall& call) {
  backward_input({call.variant, call.stream, call.precision}, call.shape,
                 {.output_gradient = call.operand<const void>(Name::output_gradient),
                  .weights = call.operand<const void>(Name::weights),
                  .addend = call.operand<const void>(Name::addend),
                  .beside = derivative_operand(call),
                  .input_gradient = call.operand<void>(Name::input_gradient),
                  .after = derivative_of(call.shape.covered)});
}

void run_backward_weights(const OpCall& call) {
  backward_weights({call.variant, call.stream, call.precision}, call.shape,
                   {.input = call.operand<const void>(Name::input),
                    .output_gradient = call.operand<const void>(Name::output_gradient),
                    .weights_gradient = call.operand<float>(Name::weights_gradient),
                    .bias_gradient = call.operand<float>(Name::bias_gradient),
                    .partial = static_cast<float*>(call.workspace)});
}

}  // namespace
}  // namespace few_channels

Variant few_channels_forward() {
  Variant more;
  few_channels::limit(more);
  more.chain = activated_forward_chain();
  more.stored_for_others = {Name::unactivated};
  more.refuses = few_channels::refuses_call;
  return cuda_variant(
      Op::conv2d_forward, "few_channels", few_channels::run_forward,
      "One pass through memory for at most three input channels, whatever the stride and dilation.",
      std::move(more));
}

Variant few_channels_backward_input() {
  Variant more;
  few_channels::limit(more);
  more.chain = summed_gradient_chain();
  more.refuses = few_channels::refuses_backward_input;
  more.yields_to = [](const OpShape& shape) { return better_covered(shape, 0); };
  return cuda_variant(Op::conv2d_backward_input, "few_channels", few_channels::run_backward_input,
                      "One pass through memory for at most three output channels, at a stride of 1.",
                      std::move(more));
}

Variant few_channels_backward_weights() {
  Variant more;
  few_channels::limit(more);
  more.chain = {{.op = Op::conv2d_backward_weights}, {.op = Op::conv2d_backward_bias, .optional = true}};
  more.workspace_bytes = [](const OpShape& shape, core::Precision) {
    return few_channels::backward_weights_workspace(shape);
  };
  more.refuses = few_channels::refuses_weights_call;
  return cuda_variant(Op::conv2d_backward_weights, "few_channels", few_channels::run_backward_weights,
                      "One pass through memory for at most three input channels, with the bias's gradient.",
                      std::move(more));
}

}  // namespace warpscope::ops::conv2d
