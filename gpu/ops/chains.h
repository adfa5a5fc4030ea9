#pragma once
// Chains of ops that several variants cover.

#include <vector>

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

/// `own`, whose output has the size of its input, and what may follow it: [relu.forward].
inline std::vector<Link> relu_after(Op own) {
  return {{.op = own, .renames = {{Name::output, Name::biased}}},
          optional_link(Op::relu_forward, Name::biased, Name::output, input_shape)};
}

/// `own`, whose output has the size of its input, and what may follow it: [relu.forward] [add.forward], whose other
/// operand `addend` comes from outside.
inline std::vector<Link> relu_and_sum_after(Op own) {
  return {{.op = own, .renames = {{Name::output, Name::biased}}},
          optional_link(Op::relu_forward, Name::biased, Name::activated, input_shape),
          optional_link(Op::add_forward, Name::activated, Name::output, input_shape)};
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
