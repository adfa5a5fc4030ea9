// 2-D convolution with stride t, dilation d and odd R and S; padding p = d (R-1)/2, q = d (S-1)/2 ("same") or
// none ("valid"). As in deep learning this is a cross-correlation.
//
//   forward           y[n,i,j,k]    = sum_{r,s,c} x[n, i t + r d - p, j t + s d - q, c] * w[k,r,s,c]
//   backward_input    dx[n,h,w,c]   = sum_{r,s,k} dy[n, (h - r d + p) / t, (w - s d + q) / t, k] * w[k,r,s,c]
//   backward_weights  dw[k,r,s,c]   = sum_{n,i,j} x[n, i t + r d - p, j t + s d - q, c] * dy[n,i,j,k]
//   backward_bias     db[k]         = sum_{n,i,j} dy[n,i,j,k]
//
// x: (N,H,W,C); w: (K,R,S,C); y: (N,I,J,K) with I = floor((H + 2 p - d (R-1) - 1) / t) + 1, which is H / t
// rounded up with "same" padding, and J alike: as PyTorch's Conv2d with padding = (p, q). Terms outside the
// image are zero, and so are those of backward_input whose place is no whole number. A convolution in one
// dimension has H = R = 1. Gradients are overwritten, not added to.
// OpShape: batch N, height H, width W, in_channels C, out_channels K, kernel_height R, kernel_width S, stride
// t, dilation d, valid, for all four ops; output_height and output_width give I and J.
// A "plain" convolution (is_plain) has t = d = 1 and y as large as x; the fastest variants take only those.
// Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016); the
// implicit-GEMM mapping: S. Chetlur et al., "cuDNN: Efficient primitives for deep learning" (2014), section
// 3.

#include "gpu/ops/conv2d/conv2d.h"

#include <array>
#include <numeric>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::conv2d {
namespace {

std::int64_t taps(const OpShape& s) {
  return std::int64_t{s.kernel_height} * s.kernel_width;
}
std::int64_t weights(const OpShape& s) {
  return taps(s) * s.in_channels * s.out_channels;
}
double flops(const OpShape& s) {
  return 2.0 * static_cast<double>(sizes::output(s)) * static_cast<double>(taps(s) * s.in_channels);
}
double bias_flops(const OpShape& s) {
  return static_cast<double>(sizes::output(s));
}
std::int64_t forward_terms(const OpShape& s) {
  return taps(s) * s.in_channels;
}
/// The most taps of a kernel side that read the same input pixel: for steps of two pixels every other one.
std::int64_t meeting_taps(const OpShape& s, int kernel) {
  const int every = s.stride / std::gcd(s.stride, s.dilation);
  return (kernel + every - 1) / every;
}
std::int64_t backward_input_terms(const OpShape& s) {
  return meeting_taps(s, s.kernel_height) * meeting_taps(s, s.kernel_width) * s.out_channels;
}

/// Each output pixel meets only ((k + 1) / 2)^2 different pixels of an input that was upsampled, of the k^2
/// that its formula names: 4 of 9 for 3x3 kernels (fused/fused.h). One channel of each pixel of one-hot characters is
/// not zero, and that is 1: an addition (fused/rows.h).
double least_flops(const OpShape& s) {
  if (s.covered.has(Op::one_hot_forward)) return flops(s) / (2.0 * s.in_channels);
  const bool upsampled = s.covered.has(Op::upsample2d_forward) || s.covered.has(Op::upsample2d_backward);
  if (!upsampled) return flops(s);
  const int met = ((s.kernel_height + 1) / 2) * ((s.kernel_width + 1) / 2);
  return flops(s) * met / static_cast<double>(taps(s));
}

std::string describe_layer(const OpShape& s) {
  return fmt::format("{} -> {}, {}x{}", sizes::describe_images(s), s.out_channels, s.kernel_height,
                     s.kernel_width);
}

constexpr std::array kForward{Operand{Name::input, Access::read, Role::activation, sizes::input},
                              Operand{Name::weights, Access::read, Role::weight, weights},
                              Operand{Name::output, Access::write, Role::activation, sizes::output}};
constexpr std::array kBackwardInput{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::output},
    Operand{Name::weights, Access::read, Role::weight, weights},
    Operand{Name::input_gradient, Access::write, Role::activation, sizes::input}};
constexpr std::array kBackwardWeights{
    Operand{Name::input, Access::read, Role::activation, sizes::input},
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::output},
    Operand{Name::weights_gradient, Access::write, Role::gradient, weights}};
constexpr std::array kBackwardBias{
    Operand{Name::output_gradient, Access::read, Role::activation, sizes::output},
    Operand{Name::bias_gradient, Access::write, Role::gradient, sizes::out_channels}};

/// What the contracts have in common.
OpContract contract_of(const char* name, const char* summary, std::span<const Operand> operands,
                       std::int64_t (*terms)(const OpShape&)) {
  return {.name = name,
          .summary = summary,
          .operands = operands,
          .flops = flops,
          .terms = terms,
          .describe = describe_layer,
          .parameters = {Parameter::stride, Parameter::dilation, Parameter::valid},
          .work = Work::products,
          .least_flops = least_flops};
}

}  // namespace

std::string refuses_unless_plain(const OpShape& shape) {
  return is_plain(shape) ? "" : "takes stride 1, no dilation and same padding only";
}

OpSet better_covered(const OpShape& shape, std::int64_t worth_a_pass) {
  const OpSet ops{Op::upsample2d_forward, Op::upsample2d_backward, Op::one_hot_forward};
  return forward_terms(shape) < worth_a_pass ? ops | OpSet{Op::maxpool2d_forward, Op::maxpool2d_backward}
                                             : ops;
}

OpContract forward_contract() {
  return contract_of("conv2d.forward", "y = x * w", kForward, forward_terms);
}

OpContract backward_input_contract() {
  return contract_of("conv2d.backward_input", "gradient of the input", kBackwardInput, backward_input_terms);
}

OpContract backward_weights_contract() {
  return contract_of("conv2d.backward_weights", "gradient of the weights", kBackwardWeights,
                     sizes::output_pixels);
}

OpContract backward_bias_contract() {
  OpContract made =
      contract_of("conv2d.backward_bias", "gradient of the bias", kBackwardBias, sizes::output_pixels);
  made.flops = bias_flops;
  made.work = Work::movement;
  made.least_flops = nullptr;
  return made;
}

WARPSCOPE_VARIANTS(
    reference_forward(), reference_backward_input(), reference_backward_weights(), reference_backward_bias(),
    loops_forward(), loops_backward_input(), loops_backward_weights(), loops_backward_bias(),
    gather_rows_loops_forward(), scatter_rows_loops_backward_weights(), onednn_forward(),
    onednn_fused_forward(), onednn_backward_input(), onednn_backward_weights(),
    onednn_backward_bias() WARPSCOPE_IF_CUDA(
        , naive_forward(), tiled_forward(), atomic_backward_input(), gather_backward_input(),
        atomic_backward_weights(), per_weight_backward_weights(), tree_reduction_backward_weights(),
        atomic_backward_bias(), warp_shuffle_backward_bias(), implicit_gemm_forward(),
        implicit_gemm_backward_input(), implicit_gemm_backward_weights(), wmma_forward(),
        wmma_backward_input(), wmma_backward_weights(), gather_rows_forward(), shared_rows_forward(),
        shared_rows_normed_forward(), scatter_rows_backward_weights(), mma_rows_backward_weights(),
        mma_forward(), mma_fused_forward(), mma_backward_input(), mma_backward_weights(), fused_forward(),
        fused_backward_input(), fused_backward_weights(), pipelined_forward(), pipelined_backward_input(),
        pipelined_backward_weights(), narrow_forward(), narrow_backward_input(), narrow_backward_weights())
        WARPSCOPE_IF_HOPPER(, hopper_forward(), hopper_normed_forward(), hopper_pooled_forward(),
                            hopper_general_forward(), hopper_general_normed_forward(),
                            hopper_general_summed_forward(), hopper_backward_input(),
                            hopper_unpooled_backward_input(), hopper_general_backward_input(),
                            hopper_backward_weights(), hopper_rows_backward_weights(),
                            hopper_general_backward_weights(), hopper_general_turned_backward_weights())
            WARPSCOPE_IF_CUDA(, few_channels_forward(), few_channels_backward_input(),
                              few_channels_backward_weights(), patches_forward(), patches_backward_input(),
                              patches_backward_weights())
                WARPSCOPE_IF_CUDNN(, cudnn_forward(), cudnn_fused_forward(), cudnn_backward_input(),
                                   cudnn_backward_weights()))

}  // namespace warpscope::ops::conv2d
