// What the variants `wmma` are, and how their products are cut.

#include <utility>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/implicit_gemm_plan.h"
#include "gpu/ops/conv2d/wmma.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d::wmma {
namespace {

using core::Precision;
using ops::wmma::Cut;
using ops::wmma::kSide;
using ops::wmma::Sizes;
using ops::wmma::TileKind;

int taps_of_kernel(const OpShape& s) {
  return s.kernel_height * s.kernel_width;
}

std::size_t forward_workspace(const OpShape& s, Precision precision) {
  const Sizes sizes = forward_sizes(s);
  return parts_bytes(sizes, activations_cut(sizes, precision));
}
std::size_t backward_input_workspace(const OpShape& s, Precision precision) {
  const Sizes sizes = backward_input_sizes(s);
  return parts_bytes(sizes, activations_cut(sizes, precision));
}
std::size_t backward_weights_workspace(const OpShape& s, Precision precision) {
  const Sizes sizes = backward_weights_sizes(s);
  return parts_bytes(sizes, weights_cut(sizes, precision));
}

}  // namespace

Sizes forward_sizes(const OpShape& s) {
  return {static_cast<int>(sizes::output_pixels(s)), s.out_channels, taps_of_kernel(s) * s.in_channels};
}
Sizes backward_input_sizes(const OpShape& s) {
  return {static_cast<int>(sizes::pixels(s)), s.in_channels, taps_of_kernel(s) * s.out_channels};
}
Sizes backward_weights_sizes(const OpShape& s) {
  return {s.out_channels, taps_of_kernel(s) * s.in_channels, static_cast<int>(sizes::output_pixels(s))};
}

Cut activations_cut(const Sizes& sizes, Precision precision) {
  return cut_of(sizes, sizes.columns <= kSide ? TileKind::narrow : TileKind::wide, precision);
}
Cut weights_cut(const Sizes& sizes, Precision precision) {
  return cut_of(sizes, sizes.rows <= kSide ? TileKind::flat : TileKind::wide, precision);
}

Variant variant_of(Op op) {
  Variant made{.precisions = {Precision::fp16, Precision::bf16, Precision::tf32},
               .minimum_beside_fp16 = 80,
               .presets = {{"wmma", true}},
               .refuses = refuses_large};
  if (op == Op::conv2d_forward || op == Op::linear_forward) {
    made.chain = bias_and_relu_after(op);
    made.workspace_bytes = forward_workspace;
    return cuda_variant(op, "wmma", forward,
                        "A tiled product on tensor cores by the WMMA interface, with bias and ReLU in it.",
                        std::move(made));
  }
  if (op == Op::conv2d_backward_input || op == Op::linear_backward_input) {
    made.workspace_bytes = backward_input_workspace;
    return cuda_variant(op, "wmma", backward_input,
                        "The product of forward by the WMMA interface, with the weights turned round.",
                        std::move(made));
  }
  made.workspace_bytes = backward_weights_workspace;
  return cuda_variant(
      op, "wmma", backward_weights,
      "A product over the pixels by the WMMA interface, in parts that are added in one order.",
      std::move(made));
}

}  // namespace warpscope::ops::conv2d::wmma
