// conv2d, variant `hopper`: for each shape the best kernel for Hopper (compute capability 9.0). Over `narrow`
// it adds wgmma fed by the tensor memory accelerator for channels in multiples of 64 (hopper_*.cu), in one dimension
// with or without padding, for images of at most 4x4 pixels eight at once, and TF32. The backward_input of those in two
// dimensions that are not upsampled adds the gradient that comes from another reader of its input. Other shapes run as
// `narrow`, and the wide backward_weights in TF32 as `fused`. Limits: TF32, FP16 and BF16; built as sm_90a, so that no
// other architecture can run it. Source: the files named.

#include <string>
#include <utility>
#include <vector>

#include "gpu/ops/conv2d/fused/general/general.h"
#include "gpu/ops/conv2d/fused/gradient_sum.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_lines.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_small.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_wide.h"
#include "gpu/ops/conv2d/fused/routes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused {
namespace {

/// Beside what all kernels take: convolutions of one dimension without padding. Their backward_weights in TF32 is
/// that of conv2d by itself, which general's runs.
std::string refuses(const OpShape& shape) {
  const bool line = shape.stride == 1 && shape.dilation == 1 && hopper::is_line(shape_of(shape));
  return line ? "" : general::refuses(shape);
}

/// Beside that, not all kernels add another gradient.
std::string refuses_with_sum(const OpShape& shape) {
  const std::string reason = refuses(shape);
  if (!reason.empty() || !shape.covered.has(Op::add_forward)) return reason;
  const ChainShape s = shape_of(shape);
  const bool sums = is_plain(shape) && !s.upsample && hopper::is_wide(s);
  return sums ? "" : "adds a gradient in 3x3 layers of channels in multiples of 64 that are not upsampled";
}

/// `routes`, then the narrow ones.
Variant hopper_variant(Op op, std::vector<Route> routes) {
  const std::vector<Route> others = narrow_routes(op);
  routes.insert(routes.end(), others.begin(), others.end());
  Variant variant = routed_variant(
      op, "hopper", "wgmma fed by TMA for wide layers, one pass through memory for those with 3 channels.",
      std::move(routes));
  variant.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 90;
  variant.maximum_compute_capability = 90;
  variant.refuses = refuses;
  return variant;
}

}  // namespace
}  // namespace fused

Variant hopper_forward() {
  using namespace fused;
  return hopper_variant(Op::conv2d_forward,
                        {{hopper::is_small, nullptr, hopper::small_forward::launch},
                         {hopper::is_wide, hopper::forward::workspace, hopper::forward::launch},
                         {hopper::is_line, nullptr, hopper::line_forward::launch}});
}
Variant hopper_backward_weights() {
  using namespace fused;
  return hopper_variant(Op::conv2d_backward_weights,
                        {{hopper::backward_weights::takes, hopper::backward_weights::workspace,
                          hopper::backward_weights::launch, false}});
}
Variant hopper_backward_input() {
  using namespace fused;
  Variant variant = hopper_variant(
      Op::conv2d_backward_input,
      {{hopper::is_small, hopper::small_backward_input::workspace, hopper::small_backward_input::launch},
       {hopper::is_wide, hopper::backward_input::workspace, hopper::backward_input::launch},
       {hopper::is_line, hopper::line_backward_input::workspace, hopper::line_backward_input::launch}});
  variant.chain = summed_backward_input_chain();
  variant.refuses = refuses_with_sum;
  return variant;
}

}  // namespace warpscope::ops::conv2d
