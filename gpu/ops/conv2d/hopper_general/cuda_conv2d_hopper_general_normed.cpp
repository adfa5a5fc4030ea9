// conv2d.forward, variants `hopper_general_normed` and `hopper_general_summed`: over `hopper_general` they add the
// batch norm behind the convolution, and what runs in the pass that writes the norm's output: a ReLU and a residual
// addition or the max pooling; of `hopper_general_summed` an addition and an activation of the sum. The convolution
// writes its output, which backward reads, and leaves the moments of it; so the norm reads it once, to write what comes
// of it, and not before for the moments. The running statistics move in the kernel that merges the moments.
//
// The kernel: hopper_general_moments.cuh. Limits: those of `hopper_general`; FP16 and BF16; 32 pixels of all images.
// Results are those of the ops apart but for the order in which moments merge; they have the same bits every time on
// GPUs with as many multiprocessors. Workspace: the moments, at most 0.33 MB up to 27,000 channels. Bound by products,
// then by memory. Source: the same, partial_moments.cu.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/ops/batch_norm/partial_moments.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"
#include "gpu/ops/conv2d/normed_chain.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace hopper_general {
namespace {

constexpr std::int64_t kLeastPixels = 32;

/// Enqueues the convolution. The moments that it returns lie in the workspace.
batch_norm::PartialMoments convolve(const OpCall& call) {
  const int multiprocessors = fused::hopper::multiprocessors();
  Problem problem = forward_problem(call.shape, call.precision);
  const TileSize tile = choose_tile(problem, call.precision, multiprocessors);
  cut(problem, tile);
  auto* parts = static_cast<float*>(call.workspace);
  const Tensors tensors{.in = call.operand<const void>(Name::input),
                        .weights = call.operand<const void>(Name::weights),
                        .bias = call.operand<const void>(Name::bias),
                        .out = call.operand<void>(Name::biased),
                        .parts = parts};
  const auto run = call.precision == core::Precision::fp16 ? launch_normed_fp16 : launch_normed_bf16;
  run(call, problem, tensors, map_forward(call, problem, tensors, tile), tile);
  return {parts, moment_rows(problem, multiprocessors)};
}

void normed(const OpCall& call) {
  batch_norm::forward_from(convolve(call), norm_call(call));
}

void summed(const OpCall& call) {
  batch_norm::summed_from(convolve(call), norm_call(call));
}

std::size_t normed_workspace(const OpShape& shape, core::Precision) {
  return moments_workspace(shape);
}

std::string refuses_normed(const OpShape& shape) {
  if (const std::string reason = refuses_behind_norm(shape); !reason.empty()) return reason;
  // Few pixels of a channel may differ by less than rounding moves them, which the norm makes large.
  if (sizes::output_pixels(shape) < kLeastPixels) return "takes outputs of at least 32 pixels in all";
  return refuses_forward(shape);
}

Variant limited(std::vector<Link> chain) {
  Variant more;
  limit(more);
  more.precisions = {core::Precision::fp16, core::Precision::bf16};
  more.yields_to = [](const OpShape&) { return OpSet{Op::upsample2d_forward}; };
  more.chain = std::move(chain);
  more.stored = {Name::biased, Name::statistics};
  more.workspace_bytes = normed_workspace;
  more.refuses = refuses_normed;
  return more;
}

}  // namespace
}  // namespace hopper_general

Variant hopper_general_normed_forward() {
  Variant more = hopper_general::limited(normed_chain());
  more.stored.push_back(Name::activated);
  return cuda_variant(Op::conv2d_forward, "hopper_general_normed", hopper_general::normed,
                      "The batch norm behind it in the same call: the convolution leaves the moments of its "
                      "output, which is then read once.",
                      std::move(more));
}

Variant hopper_general_summed_forward() {
  Variant more = hopper_general::limited(normed_sum_chain());
  more.stored_for_others = {Name::unactivated};
  return cuda_variant(Op::conv2d_forward, "hopper_general_summed", hopper_general::summed,
                      "An addition behind the batch norm in the same call, and the activation of the sum.",
                      std::move(more));
}

}  // namespace warpscope::ops::conv2d
