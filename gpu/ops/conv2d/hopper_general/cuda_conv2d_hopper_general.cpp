// conv2d.forward and backward_input, variants `hopper_general`: over `mma` they add wgmma and the tensor memory
// accelerator, which finds the pixels of each tap by itself, for convolutions that `hopper` has no kernels for: any
// kernel up to 15x15, stride 1 and 2, dilation, padding or none, channels in multiples of 8. Tiles have as many columns
// as the channels need. backward_input goes by the remainders of row and column by the stride, so that no zeros between
// the steps are multiplied. Bias and activation, or the gradient that comes from another reader of the input and the
// derivative of the activation before, are done on the way out.
//
// The kernel: hopper_general.cuh. Limits: fewer than 32 channels only where a kernel is 1x1, and of inputs that a
// stride of 2 has passed over; kernels that reach over less than 128 pixels; operands aligned to 16 bytes; built as
// sm_90a, so that no other architecture can run it.

#include <cstdint>
#include <utility>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/activated_chain.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"
#include "gpu/ops/conv2d/transposed_weights.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace hopper_general {
namespace {

/// Products of an output from which on a pass for pooling costs less than they save here.
constexpr std::int64_t kProductsWorthAPass = 400;

void launch(const OpCall& call, const Problem& problem, const Tensors& tensors, const Maps& maps,
            const TileSize& tile) {
  switch (call.precision) {
    case core::Precision::tf32:
      return launch_tf32(call, problem, tensors, maps, tile);
    case core::Precision::fp16:
      return launch_fp16(call, problem, tensors, maps, tile);
    default:
      return launch_bf16(call, problem, tensors, maps, tile);
  }
}

/// ReLU and other activations have fields of their own.
void set_activation(Problem& problem, Activation kind) {
  problem.relu = kind == Activation::relu;
  if (!problem.relu) problem.after = kind;
}

void forward(const OpCall& call) {
  Problem problem = forward_problem(call.shape, call.precision);
  set_activation(problem, activation_of(call.shape.covered));
  const TileSize tile = choose_tile(problem, call.precision, fused::hopper::multiprocessors());
  cut(problem, tile);
  const Tensors tensors{.in = call.operand<const void>(Name::input),
                        .weights = call.operand<const void>(Name::weights),
                        .bias = call.operand<const void>(Name::bias),
                        .kept = call.operand<void>(Name::unactivated),
                        .out = call.operand<void>(Name::output)};
  launch(call, problem, tensors, map_forward(call, problem, tensors, tile), tile);
}

void backward_input(const OpCall& call) {
  Problem problem = backward_input_problem(call.shape, call.precision);
  const Activation derivative = derivative_of(call.shape.covered);
  const bool masks = derivative == Activation::relu && !call.covers(Op::add_forward);
  if (!masks) problem.after = derivative;
  const TileSize tile = choose_tile(problem, call.precision, fused::hopper::multiprocessors());
  cut(problem, tile);
  transpose_weights(call, call.operand<const void>(Name::weights), call.workspace);
  const void* read = derivative_operand(call);
  const Tensors tensors{.in = call.operand<const void>(Name::output_gradient),
                        .weights = call.workspace,
                        .mask = masks ? read : nullptr,
                        .beside = masks ? nullptr : read,
                        .addend = call.operand<const void>(Name::addend),
                        .out = call.operand<void>(Name::input_gradient)};
  launch(call, problem, tensors, map_backward_input(call, problem, tensors, tile), tile);
}

}  // namespace

void limit(Variant& variant) {
  variant.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 90;
  variant.maximum_compute_capability = 90;
  variant.special = true;
  variant.yields_to = [](const OpShape& shape) { return better_covered(shape, kProductsWorthAPass); };
}

}  // namespace hopper_general

Variant hopper_general_forward() {
  Variant more;
  hopper_general::limit(more);
  more.chain = activated_forward_chain();
  more.stored_for_others = {Name::unactivated};
  more.refuses = hopper_general::refuses_forward;
  return cuda_variant(
      Op::conv2d_forward, "hopper_general", hopper_general::forward,
      "wgmma fed by TMA for any kernel, stride 1 or 2 and dilation, tiles as wide as channels need.",
      std::move(more));
}

Variant hopper_general_backward_input() {
  Variant more;
  hopper_general::limit(more);
  more.chain = summed_gradient_chain();
  more.workspace_bytes = transposed_weights_bytes;
  more.refuses = hopper_general::refuses_backward_input;
  return cuda_variant(
      Op::conv2d_backward_input, "hopper_general", hopper_general::backward_input,
      "The product of forward by wgmma and TMA, for each remainder of a stride of 2 by itself.",
      std::move(more));
}

}  // namespace warpscope::ops::conv2d
