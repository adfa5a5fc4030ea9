#include <utility>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/normed_chain.h"

namespace warpscope::ops::conv2d {
namespace {

/// The shape of a pooling, in the windows that the call tells, of what the convolution gives.
OpShape pooled_result_shape(const OpShape& call) {
  OpShape shape = result_shape(call);
  shape.kernel_height = call.window_height;
  shape.kernel_width = call.window_width;
  return shape;
}

/// conv2d bias? batch_norm batch_norm.track?
std::vector<Link> chain_until_norm() {
  return {{.op = Op::conv2d_forward, .renames = {{Name::output, Name::product}}},
          optional_link(Op::bias_forward, Name::product, Name::biased, result_shape),
          {.op = Op::batch_norm_forward,
           .renames = {{Name::input, Name::biased},
                       {Name::weights, Name::norm_weights},
                       {Name::bias, Name::norm_bias},
                       {Name::output, Name::normed}},
           .shape = result_shape},
          {.op = Op::batch_norm_track, .optional = true, .shape = result_shape}};
}

}  // namespace

std::vector<Link> normed_chain() {
  std::vector<Link> chain = chain_until_norm();
  chain.push_back(optional_link(Op::relu_forward, Name::normed, Name::activated, result_shape));
  chain.push_back(optional_link(Op::add_forward, Name::activated, Name::unpooled, result_shape));
  chain.back().needs = {Op::relu_forward};
  chain.push_back({.op = Op::maxpool2d_forward,
                   .renames = {{Name::input, Name::unpooled}},
                   .optional = true,
                   .without = Rename{Name::unpooled, Name::output},
                   .shape = pooled_result_shape,
                   .takes = take_window});
  return chain;
}

std::vector<Link> normed_sum_chain() {
  std::vector<Link> chain = chain_until_norm();
  chain.push_back({.op = Op::add_forward,
                   .renames = {{Name::input, Name::normed}, {Name::output, Name::unpooled}},
                   .shape = result_shape});
  for (Link& each : activation_after(Name::unpooled, Name::output, result_shape))
    chain.push_back(std::move(each));
  return chain;
}

std::string refuses_behind_norm(const OpShape& shape) {
  return shape.covered.has_all({Op::add_forward, Op::maxpool2d_forward})
             ? "takes an addition or a pooling behind the norm, not both"
             : "";
}

OpCall norm_call(const OpCall& call) {
  OpCall norm;
  norm.variant = call.variant;
  norm.shape = result_shape(call.shape);
  norm.shape.window_height = call.shape.window_height;
  norm.shape.window_width = call.shape.window_width;
  for (const Op op :
       {Op::batch_norm_track, Op::relu_forward, Op::gelu_forward, Op::add_forward, Op::maxpool2d_forward}) {
    if (call.covers(op)) norm.shape.covered.add(op);
  }
  norm.precision = call.precision;
  for (const Name name : {Name::statistics, Name::control, Name::running_mean, Name::running_variance,
                          Name::activated, Name::unactivated, Name::addend, Name::output, Name::argmax}) {
    norm.operands[name] = call.operands[name];
  }
  norm.operands[Name::input] = call.operands[Name::biased];
  norm.operands[Name::weights] = call.operands[Name::norm_weights];
  norm.operands[Name::bias] = call.operands[Name::norm_bias];
  norm.stream = call.stream;
  return norm;
}

}  // namespace warpscope::ops::conv2d
