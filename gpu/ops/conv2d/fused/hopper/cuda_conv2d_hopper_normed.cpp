// conv2d.forward, variant `hopper_normed`: over `hopper` it adds the batch norm behind the convolution, and the ReLU
// and a residual addition or the max pooling behind that, if there are any. The convolution writes its output, which
// backward reads, and leaves the moments of it; so the norm reads it once, to write what comes of it, and not before
// for the moments. What is added to is written as well, for the gradient of the ReLU. The running statistics move in
// the kernel that merges the moments.
//
// Limits: those of hopper_normed.cu; FP16 and BF16; kernels of 3x3 without stride, of channels in multiples of 64, at
// most 1024. Results are those of the ops apart but for the order in which moments merge, and that a sum is rounded
// once; they have the same bits every time on GPUs with as many multiprocessors. Bound by products, then by memory.
// Source: hopper_moments.cuh, partial_moments.cu.

#include <string>
#include <vector>

#include "gpu/ops/batch_norm/partial_moments.h"
#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_normed.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused {
namespace {

/// The shape of a pooling, in the windows that the call tells, of what the convolution gives.
OpShape pooled_result_shape(const OpShape& call) {
  OpShape shape = result_shape(call);
  shape.kernel_height = call.window_height;
  shape.kernel_width = call.window_width;
  return shape;
}

/// conv2d bias? as `before` has them, batch_norm batch_norm.track? (relu add?)? maxpool2d? No upsampling: the weights
/// that an upsampled layer sums are rounded twice, which a norm of few pixels makes larger than the tolerance. Nobody
/// reads what is added to but the gradient of the ReLU, so without one there would be nothing to store.
std::vector<Link> normed_chain(const std::vector<Link>& before) {
  std::vector<Link> chain{{.op = Op::conv2d_forward, .renames = {{Name::output, Name::product}}}};
  for (const Link& link : before) {
    if (link.op == Op::bias_forward) chain.push_back(link);
  }
  chain.push_back({.op = Op::batch_norm_forward,
                   .renames = {{Name::input, Name::biased},
                               {Name::weights, Name::norm_weights},
                               {Name::bias, Name::norm_bias},
                               {Name::output, Name::normed}},
                   .shape = result_shape});
  chain.push_back({.op = Op::batch_norm_track, .optional = true, .shape = result_shape});
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

/// The convolution by itself.
ChainShape convolution_shape(const OpShape& call) {
  ChainShape shape = shape_of(call);
  shape.relu = shape.pool = false;
  return shape;
}

/// The batch norm and what is behind it.
OpCall norm_call(const OpCall& call) {
  OpCall norm;
  norm.variant = call.variant;
  norm.shape = result_shape(call.shape);
  norm.shape.window_height = call.shape.window_height;
  norm.shape.window_width = call.shape.window_width;
  for (const Op op : {Op::batch_norm_track, Op::relu_forward, Op::add_forward, Op::maxpool2d_forward}) {
    if (call.covers(op)) norm.shape.covered.add(op);
  }
  norm.precision = call.precision;
  for (const Name name : {Name::statistics, Name::control, Name::running_mean, Name::running_variance,
                          Name::activated, Name::addend, Name::output, Name::argmax}) {
    norm.operands[name] = call.operands[name];
  }
  norm.operands[Name::input] = call.operands[Name::biased];
  norm.operands[Name::weights] = call.operands[Name::norm_weights];
  norm.operands[Name::bias] = call.operands[Name::norm_bias];
  norm.stream = call.stream;
  return norm;
}

void launch(const OpCall& call) {
  ChainCall convolution = call_of(call);
  convolution.shape = convolution_shape(call.shape);
  convolution.operands[Name::output] = call.operands[Name::biased];
  convolution.operands[Name::argmax] = nullptr;
  batch_norm::forward_from(hopper::normed_forward::launch(convolution), norm_call(call));
}

std::size_t workspace_bytes(const OpShape& shape, core::Precision) {
  return hopper::normed_forward::workspace(convolution_shape(shape));
}

std::string refuses(const OpShape& shape) {
  if (shape.kernel_height != 3 || shape.kernel_width != 3 || !is_plain(shape)) {
    return "takes kernels of 3x3 with stride 1 and padding";
  }
  if (shape.covered.has_all({Op::add_forward, Op::maxpool2d_forward})) {
    return "takes an addition or a pooling behind the norm, not both";
  }
  if (shape.in_channels % 64 != 0 || shape.out_channels % 64 != 0) return "takes channels in multiples of 64";
  return hopper::is_wide(convolution_shape(shape))
             ? ""
             : "takes at most 1024 channels and 2,000,000,000 numbers of a batch";
}

}  // namespace
}  // namespace fused

Variant hopper_normed_forward() {
  Variant variant = fused::chain_variant(
      Op::conv2d_forward, "hopper_normed",
      "The batch norm behind it in the same call: the convolution leaves the moments of its output, which is "
      "then read once.");
  variant.precisions = {core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 90;
  variant.maximum_compute_capability = 90;
  variant.chain = fused::normed_chain(variant.chain);
  variant.stored = {Name::biased, Name::statistics, Name::activated};
  variant.formats = {};
  variant.launch = fused::launch;
  variant.workspace_bytes = fused::workspace_bytes;
  variant.refuses = fused::refuses;
  return variant;
}

}  // namespace warpscope::ops::conv2d
