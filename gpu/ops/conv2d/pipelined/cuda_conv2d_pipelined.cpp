// conv2d.forward, backward_input and backward_weights, variants `pipelined`: over `implicit_gemm` they add copies that
// run ahead of the products (cp.async), tiles as narrow as the channels are, whatever stride and dilation, and what
// follows in the same call: bias and activation, or the gradient that comes from another reader of the input and the
// derivative of the activation before, or the bias's gradient. backward_input goes by the remainders of row and column
// by the stride, so that no zeros between the steps are multiplied.
//
// The kernels: pipelined_products.cu, pipelined_weights.cu. Limits: FP32; strides up to 4; operands aligned to 16
// bytes; compute capability 8.0. Measured on an H200, `fused` is 5 to 10 % faster on plain convolutions of channels in
// multiples of 64, and on gradients of the weights of one tap: these are left to it. So are plain ones of channels that
// are no multiple of 4: it has kernels for few filters, and pools in the same call.

#include <utility>
#include <vector>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/activated_chain.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/pipelined/pipelined.h"
#include "gpu/ops/conv2d/transposed_weights.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace pipelined {
namespace {

void forward(const OpCall& call) {
  Problem problem = forward_problem(call.shape);
  const int tile = cut(problem);
  launch_products(call, problem, tile,
                  {.in = call.operand<const float>(Name::input),
                   .weights = call.operand<const float>(Name::weights),
                   .bias = call.operand<const float>(Name::bias),
                   .kept = call.operand<float>(Name::unactivated),
                   .out = call.operand<float>(Name::output),
                   .after = activation_of(call.shape.covered)});
}

void backward_input(const OpCall& call) {
  Problem problem = backward_input_problem(call.shape);
  const int tile = cut(problem);
  transpose_weights(call, call.operand<const void>(Name::weights), call.workspace);
  launch_products(call, problem, tile,
                  {.in = call.operand<const float>(Name::output_gradient),
                   .weights = static_cast<const float*>(call.workspace),
                   .addend = call.operand<const float>(Name::addend),
                   .beside = static_cast<const float*>(derivative_operand(call)),
                   .out = call.operand<float>(Name::input_gradient),
                   .after = derivative_of(call.shape.covered)});
}

void backward_weights(const OpCall& call) {
  launch_weights(call, plan_weights(call.shape));
}

std::size_t weights_workspace(const OpShape& shape, core::Precision) {
  const WeightsProblem q = plan_weights(shape).problem;
  return q.splits < 2 ? 0
                      : sizeof(float) * static_cast<std::size_t>(q.splits) *
                            static_cast<std::size_t>(q.split_elements());
}

Variant limited(std::vector<Link> chain) {
  Variant more;
  more.chain = std::move(chain);
  more.precisions = {core::Precision::fp32};
  more.minimum_compute_capability = 80;
  more.special = true;
  more.refuses = refuses;
  more.yields_to = [](const OpShape& shape) { return better_covered(shape, 0); };
  return more;
}

}  // namespace
}  // namespace pipelined

Variant pipelined_forward() {
  Variant more = pipelined::limited(activated_forward_chain());
  more.stored_for_others = {Name::unactivated};
  return cuda_variant(
      Op::conv2d_forward, "pipelined", pipelined::forward,
      "Operands are copied ahead to tiles as narrow as the channels, for any stride and dilation.",
      std::move(more));
}

Variant pipelined_backward_input() {
  Variant more = pipelined::limited(summed_gradient_chain());
  more.workspace_bytes = transposed_weights_bytes;
  return cuda_variant(Op::conv2d_backward_input, "pipelined", pipelined::backward_input,
                      "The product of forward, for each remainder of a stride by itself.", std::move(more));
}

Variant pipelined_backward_weights() {
  Variant more = pipelined::limited(
      {{.op = Op::conv2d_backward_weights}, {.op = Op::conv2d_backward_bias, .optional = true}});
  more.workspace_bytes = pipelined::weights_workspace;
  more.refuses = pipelined::refuses_weights;
  return cuda_variant(
      Op::conv2d_backward_weights, "pipelined", pipelined::backward_weights,
      "A product over the pixels, copied ahead and split among blocks, added in a fixed order.",
      std::move(more));
}

}  // namespace warpscope::ops::conv2d
