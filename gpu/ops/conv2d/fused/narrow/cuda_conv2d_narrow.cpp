// conv2d, variant `narrow`: over `fused` it adds kernels for layers with 1 to 4 channels on one side, which
// are bound by memory: each wide element is read and written once (narrow_*.cu; few_channels.h for larger kernels on
// at most three channels). Other shapes run as `fused`.
// Limits: FP16 and BF16 (in TF32 the narrow kernels want 128 KB of shared memory a block, which not every GPU
// of compute capability 8.0 and later has: `hopper` runs them there). Source: narrow.h.

#include <stdexcept>
#include <vector>

#include "gpu/ops/conv2d/few_channels/few_channels_chain.h"
#include "gpu/ops/conv2d/fused/general/general.h"
#include "gpu/ops/conv2d/fused/narrow/narrow.h"
#include "gpu/ops/conv2d/fused/routes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused {
namespace {

bool takes_all(const ChainShape&) {
  return true;
}

Variant narrow_variant(Op op) {
  constexpr const char* kSummary = "One pass through memory for layers with at most 4 channels on one side.";
  Variant variant = routed_variant(op, "narrow", kSummary, narrow_routes(op));
  variant.precisions = {core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 80;
  variant.refuses = general::refuses;
  return variant;
}

}  // namespace

std::vector<Route> narrow_routes(Op op) {
  switch (op) {
    case Op::conv2d_forward:
      return {{narrow::input_forward::takes, nullptr, narrow::input_forward::launch},
              {narrow::output_forward::takes, nullptr, narrow::output_forward::launch},
              {few_channels::chain_forward::takes, few_channels::chain_forward::workspace,
               few_channels::chain_forward::launch, false},
              {takes_all, general::forward_workspace, general::forward}};
    case Op::conv2d_backward_weights:
      return {{narrow::input_backward_weights::takes, narrow::input_backward_weights::workspace,
               narrow::input_backward_weights::launch},
              {narrow::output_backward_weights::takes, narrow::output_backward_weights::workspace,
               narrow::output_backward_weights::launch},
              {few_channels::chain_backward_weights::takes, few_channels::chain_backward_weights::workspace,
               few_channels::chain_backward_weights::launch, false},
              {takes_all, general::backward_weights_workspace, general::backward_weights}};
    case Op::conv2d_backward_input:
      return {{narrow::output_backward_input::takes, nullptr, narrow::output_backward_input::launch},
              {takes_all, general::backward_input_workspace, general::backward_input}};
    default:
      throw std::logic_error("narrow kernels are of three ops");
  }
}

}  // namespace fused

Variant narrow_forward() {
  return fused::narrow_variant(Op::conv2d_forward);
}
Variant narrow_backward_weights() {
  return fused::narrow_variant(Op::conv2d_backward_weights);
}
Variant narrow_backward_input() {
  return fused::narrow_variant(Op::conv2d_backward_input);
}

}  // namespace warpscope::ops::conv2d
