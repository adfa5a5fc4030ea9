// conv2d, variant `hopper`: for each shape the best kernel for Hopper (compute capability 9.0). Over `narrow`
// it adds wgmma fed by the tensor memory accelerator for channels in multiples of 64 (hopper_*.cu), in one dimension
// with or without padding, for images of at most 4x4 pixels eight at once, and TF32. The backward_input of those in two
// dimensions that are not upsampled adds the gradient that comes from another reader of its input. Other shapes run as
// `narrow`, and the wide backward_weights in TF32 as `fused`. Limits: TF32, FP16 and BF16; built as sm_90a, so that no
// other architecture can run it. Source: the files named.

#include <string>
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

std::vector<Route> before_narrow(Op op, std::vector<Route> routes) {
  routes.insert(routes.end(), narrow_routes(op).begin(), narrow_routes(op).end());
  return routes;
}

const std::vector<Route>& forward_routes() {
  static const std::vector<Route> all = before_narrow(
      Op::conv2d_forward,
      {{in_any_precision<hopper::small_forward::takes>, hopper::small_forward::workspace,
        hopper::small_forward::launch},
       {in_any_precision<hopper::forward::takes>, hopper::forward::workspace, hopper::forward::launch},
       {in_any_precision<hopper::line_forward::takes>, hopper::line_forward::workspace,
        hopper::line_forward::launch}});
  return all;
}

const std::vector<Route>& backward_weights_routes() {
  static const std::vector<Route> all = before_narrow(
      Op::conv2d_backward_weights, {{in_16_bits<hopper::backward_weights::takes>,
                                     hopper::backward_weights::workspace, hopper::backward_weights::launch}});
  return all;
}

const std::vector<Route>& backward_input_routes() {
  static const std::vector<Route> all =
      before_narrow(Op::conv2d_backward_input,
                    {{in_any_precision<hopper::small_backward_input::takes>,
                      hopper::small_backward_input::workspace, hopper::small_backward_input::launch},
                     {in_any_precision<hopper::backward_input::takes>, hopper::backward_input::workspace,
                      hopper::backward_input::launch},
                     {in_any_precision<hopper::line_backward_input::takes>,
                      hopper::line_backward_input::workspace, hopper::line_backward_input::launch}});
  return all;
}

/// Beside what all kernels take: convolutions of one dimension without padding. Their backward_weights in TF32 is
/// that of conv2d alone, which general's runs.
std::string refuses(const OpShape& shape) {
  const bool line = shape.stride == 1 && shape.dilation == 1 && hopper::is_line(shape_of(shape));
  return line ? "" : general::refuses(shape);
}

/// Beside that, not all kernels add another gradient.
std::string refuses_with_sum(const OpShape& shape) {
  const std::string reason = refuses(shape);
  if (!reason.empty() || !shape.covered.has(Op::add_forward)) return reason;
  const ChainShape s = shape_of(shape);
  const bool sums = is_plain(shape) && !s.upsample && hopper::backward_input::takes(s);
  return sums ? "" : "adds a gradient in 3x3 layers of channels in multiples of 64 that are not upsampled";
}

Variant hopper_variant(Variant variant) {
  variant.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 90;
  variant.maximum_compute_capability = 90;
  variant.refuses = refuses;
  return variant;
}

constexpr const char* kSummary =
    "wgmma fed by TMA for wide layers, one pass through memory for those with 3 channels.";

}  // namespace
}  // namespace fused

Variant hopper_forward() {
  return fused::hopper_variant(
      fused::routed_variant<fused::forward_routes>(Op::conv2d_forward, "hopper", fused::kSummary));
}
Variant hopper_backward_weights() {
  return fused::hopper_variant(fused::routed_variant<fused::backward_weights_routes>(
      Op::conv2d_backward_weights, "hopper", fused::kSummary));
}
Variant hopper_backward_input() {
  Variant variant = fused::hopper_variant(fused::routed_variant<fused::backward_input_routes>(
      Op::conv2d_backward_input, "hopper", fused::kSummary));
  variant.chain = fused::summed_backward_input_chain();
  variant.refuses = fused::refuses_with_sum;
  return variant;
}

}  // namespace warpscope::ops::conv2d
