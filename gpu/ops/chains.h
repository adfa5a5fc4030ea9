#pragma once
// Chains of ops that several variants cover.

#include <utility>
#include <vector>

#include "gpu/ops/activation.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops {

/// The shape of an op that works element by element on what an op of shape `own` gives: its channels are that
/// one's out_channels.
inline OpShape result_shape(const OpShape& own) {
  OpShape shape;
  shape.batch = own.batch;
  shape.height = output_height(own);
  shape.width = output_width(own);
  shape.in_channels = shape.out_channels = own.out_channels;
  return shape;
}

/// The shape of a pooling in windows of 2x2, which all chains compute, of what an op of shape `own` gives.
inline OpShape pooling_shape(const OpShape& own) {
  OpShape shape = result_shape(own);
  shape.kernel_height = shape.kernel_width = 2;
  return shape;
}

/// The shape of an op that works element by element on the input of an op of shape `own`.
inline OpShape input_shape(const OpShape& own) {
  OpShape shape;
  shape.batch = own.batch;
  shape.height = own.height;
  shape.width = own.width;
  shape.in_channels = shape.out_channels = own.in_channels;
  return shape;
}

/// The shape of a pooling in the windows that the call tells, of what has the size of the input.
inline OpShape window_shape(const OpShape& call) {
  OpShape shape = input_shape(call);
  shape.kernel_height = call.window_height;
  shape.kernel_width = call.window_width;
  return shape;
}

/// Takes a pooling in any window, which the call's shape then tells.
inline bool take_window(const OpShape& its, OpShape& call) {
  call.window_height = its.kernel_height;
  call.window_width = its.kernel_width;
  return true;
}

/// An optional link: `op` reads `input` as its input and makes `result`; where it is not covered, `result` is `input`.
inline Link optional_link(Op op, Name input, Name result, OpShape (*shape)(const OpShape&)) {
  Link link{.op = op,
            .renames = {{Name::input, input}},
            .optional = true,
            .without = Rename{input, result},
            .shape = shape};
  if (result != Name::output) link.renames.push_back({Name::output, result});
  return link;
}

/// `product`, which has an output without bias, and what may follow it: [bias.forward [relu.forward]].
inline std::vector<Link> bias_and_relu_after(Op product) {
  std::vector<Link> chain{{.op = product, .renames = {{Name::output, Name::product}}},
                          optional_link(Op::bias_forward, Name::product, Name::biased, result_shape),
                          optional_link(Op::relu_forward, Name::biased, Name::output, result_shape)};
  chain.back().needs = {Op::bias_forward};
  return chain;
}

/// Optional links: an activation of `input`, one of those in ops/activation.h. What GELU reads is called `unactivated`,
/// which the variant stores for others; the result is `result`.
inline std::vector<Link> activation_after(Name input, Name result, OpShape (*shape)(const OpShape&),
                                          const OpSet& needs = {}) {
  std::vector<Link> chain{optional_link(Op::relu_forward, input, Name::unactivated, shape),
                          optional_link(Op::gelu_forward, Name::unactivated, result, shape)};
  for (Link& each : chain) each.needs = needs;
  chain.back().excludes = {Op::relu_forward};
  return chain;
}

/// `product`, which has an output without bias, and what may follow it: [bias.forward [relu.forward | gelu.forward]].
inline std::vector<Link> bias_and_activation_after(Op product) {
  std::vector<Link> chain{{.op = product, .renames = {{Name::output, Name::product}}},
                          optional_link(Op::bias_forward, Name::product, Name::biased, result_shape)};
  for (Link& each : activation_after(Name::biased, Name::output, result_shape, {Op::bias_forward})) {
    chain.push_back(std::move(each));
  }
  return chain;
}

/// Optional links: of `unmasked_gradient`, a product's, the derivative of the activation that the product's input came
/// from. ReLU's reads its output, which is `input`, GELU's its input, called `unactivated`; the result is
/// `input_gradient`.
inline std::vector<Link> derivative_after(OpShape (*shape)(const OpShape&), const OpSet& needs = {}) {
  const auto link = [&](Op op, Name reads, Name ours, Name from, Name to) {
    Link made{.op = op,
              .renames = {{reads, ours}, {Name::output_gradient, from}},
              .optional = true,
              .without = Rename{from, to},
              .needs = needs,
              .shape = shape};
    if (to != Name::input_gradient) made.renames.push_back({Name::input_gradient, to});
    return made;
  };
  std::vector<Link> chain{
      link(Op::relu_backward, Name::output, Name::input, Name::unmasked_gradient, Name::masked_gradient),
      link(Op::gelu_backward, Name::input, Name::unactivated, Name::masked_gradient, Name::input_gradient)};
  chain.back().excludes = {Op::relu_backward};
  return chain;
}

/// What the derivative in a call of such a chain reads; nullptr: there is none.
inline void* derivative_operand(const OpCall& call) {
  const Activation kind = derivative_of(call.shape.covered);
  if (kind == Activation::none) return nullptr;
  return call.operand<void>(reads_input(kind) ? Name::unactivated : Name::input);
}

/// `own`, whose output has the size of its input, and what may follow it: [relu.forward | gelu.forward].
inline std::vector<Link> own_and_activation(Op own) {
  std::vector<Link> chain{{.op = own, .renames = {{Name::output, Name::biased}}}};
  for (Link& each : activation_after(Name::biased, Name::output, input_shape))
    chain.push_back(std::move(each));
  return chain;
}

/// `own`, whose output has the size of its input, and what may follow it: [relu.forward] [add.forward], whose other
/// operand `addend` comes from outside.
inline std::vector<Link> relu_and_sum_after(Op own) {
  return {{.op = own, .renames = {{Name::output, Name::biased}}},
          optional_link(Op::relu_forward, Name::biased, Name::activated, input_shape),
          optional_link(Op::add_forward, Name::activated, Name::output, input_shape)};
}

/// `own`, whose output has the size of its input, and what must follow it: add.forward [relu.forward | gelu.forward].
inline std::vector<Link> sum_and_activation_after(Op own) {
  std::vector<Link> chain{{.op = own, .renames = {{Name::output, Name::biased}}},
                          {.op = Op::add_forward,
                           .renames = {{Name::input, Name::biased}, {Name::output, Name::product}},
                           .shape = input_shape}};
  for (Link& each : activation_after(Name::product, Name::output, input_shape))
    chain.push_back(std::move(each));
  return chain;
}

/// `own`, whose output has the size of its input, and what must follow it: [relu.forward] maxpool2d.forward.
inline std::vector<Link> pooling_after(Op own) {
  return {{.op = own, .renames = {{Name::output, Name::biased}}},
          optional_link(Op::relu_forward, Name::biased, Name::activated, input_shape),
          {.op = Op::maxpool2d_forward,
           .renames = {{Name::input, Name::activated}},
           .shape = window_shape,
           .takes = take_window}};
}

/// `own`, whose output has the size of its input, and what must come before it: maxpool2d.backward.
inline std::vector<Link> unpooling_before(Op own) {
  return {{.op = Op::maxpool2d_backward,
           .renames = {{Name::input_gradient, Name::unpooled}},
           .shape = window_shape,
           .takes = take_window},
          {.op = own, .renames = {{Name::output_gradient, Name::unpooled}}}};
}

}  // namespace warpscope::ops
