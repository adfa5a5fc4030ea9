// conv2d.forward, variant `hopper_normed`: over `hopper` it adds the batch norm behind the convolution, and the ReLU
// and a residual addition or the max pooling behind that, if there are any. The convolution writes its output, which
// backward reads, and leaves the moments of it; so the norm reads it once, to write what comes of it, and not before
// for the moments. What is added to is written as well, for the gradient of the ReLU. The running statistics move in
// the kernel that merges the moments.
//
// No upsampling before: the weights that an upsampled layer sums are rounded twice, which a norm of few pixels makes
// larger than the tolerance.
//
// Limits: those of hopper_normed.cu; FP16 and BF16; kernels of 3x3 without stride, of channels in multiples of 64, at
// most 1024. Results are those of the ops apart but for the order in which moments merge, and that a sum is rounded
// once; they have the same bits every time on GPUs with as many multiprocessors. Bound by products, then by memory.
// Source: hopper_moments.cuh, partial_moments.cu.

#include <string>

#include "gpu/ops/batch_norm/partial_moments.h"
#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_normed.h"
#include "gpu/ops/conv2d/normed_chain.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused {
namespace {

/// The convolution by itself.
ChainShape convolution_shape(const OpShape& call) {
  ChainShape shape = shape_of(call);
  shape.relu = shape.pool = false;
  return shape;
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
  if (const std::string reason = refuses_behind_norm(shape); !reason.empty()) return reason;
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
  variant.chain = normed_chain();
  variant.stored = {Name::biased, Name::statistics, Name::activated};
  variant.formats = {};
  variant.launch = fused::launch;
  variant.workspace_bytes = fused::workspace_bytes;
  variant.refuses = fused::refuses;
  return variant;
}

}  // namespace warpscope::ops::conv2d
