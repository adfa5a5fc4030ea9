#pragma once
// What the variants `recomputed` cover: the first convolution of a network, 3x3 of an image of few channels, before the
// batch norm and what lies around both. The convolution's output y is many times the image and is never stored.
//
// Moments and gradients need no y. With P[n][k], k = (r, s, c), the numbers of the 3x3 pixels around pixel n, as rows
// of a matrix, y = P w^T, so sums over y are products with sums over P, which are the same for all filters:
//
//   m[k] = mean of P[n][k];  C[k][l] = mean of (P[n][k] - m[k]) (P[n][l] - m[l])        (the covariance of the patches)
//   mean of y[f] = sum over k of w[f][k] m[k];  variance of y[f] = sum over k, l of w[f][k] C[k][l] w[f][l]
//
// P^T P is summed by tensor cores in FP32 over 16 pixels, by additions of FP32 over the tiles of a block and in FP64
// over blocks; the rest is done in FP64. Numbers of neighbouring pixels are much alike, so that a filter may have a
// variance that is thousands of times smaller than what is subtracted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/ops/chains.h"

namespace warpscope::ops::batch_norm::recomputed {

inline constexpr int kMostPatchChannels = 4;

/// The convolution before the batch norm.
inline OpShape patch_shape(const OpShape& call) {
  OpShape shape = input_shape(call);
  shape.in_channels = call.patch_channels;
  shape.out_channels = call.in_channels;
  shape.kernel_height = shape.kernel_width = 3;
  return shape;
}

/// The chains are made for a convolution that is_plain(), 3x3, of few channels.
inline bool take_patch(const OpShape& its, OpShape& call) {
  call.patch_channels = its.in_channels;
  return its.kernel_height == 3 && its.kernel_width == 3 && is_plain(its) &&
         its.in_channels <= kMostPatchChannels;
}

inline Link convolution_before() {
  return {.op = Op::conv2d_forward,
          .renames = {{Name::output, Name::product}},
          .shape = patch_shape,
          .takes = take_patch};
}

/// conv2d.forward, `own` [relu.forward] [maxpool2d.forward].
inline std::vector<Link> forward_chain(Op own) {
  return {convolution_before(),
          {.op = own,
           .renames = {{Name::input, Name::product},
                       {Name::weights, Name::norm_weights},
                       {Name::bias, Name::norm_bias},
                       {Name::output, Name::normed}}},
          optional_link(Op::relu_forward, Name::normed, Name::activated, input_shape),
          {.op = Op::maxpool2d_forward,
           .renames = {{Name::input, Name::activated}},
           .optional = true,
           .without = Rename{Name::activated, Name::output},
           .shape = window_shape,
           .takes = take_window}};
}

/// conv2d.forward [maxpool2d.backward] batch_norm.backward, conv2d.backward_weights.
inline std::vector<Link> backward_chain() {
  return {convolution_before(),
          {.op = Op::maxpool2d_backward,
           .renames = {{Name::input_gradient, Name::unpooled}},
           .optional = true,
           .without = Rename{Name::unpooled, Name::output_gradient},
           .shape = window_shape,
           .takes = take_window},
          {.op = Op::batch_norm_backward,
           .renames = {{Name::input, Name::product},
                       {Name::output_gradient, Name::unpooled},
                       {Name::weights, Name::norm_weights},
                       {Name::input_gradient, Name::product_gradient},
                       {Name::weights_gradient, Name::norm_weights_gradient},
                       {Name::bias_gradient, Name::norm_bias_gradient}}},
          {.op = Op::conv2d_backward_weights,
           .renames = {{Name::output_gradient, Name::product_gradient}},
           .shape = patch_shape}};
}

inline bool pools(const OpShape& s) {
  return s.covered.has(Op::maxpool2d_forward) || s.covered.has(Op::maxpool2d_backward);
}

/// Numbers of tiles and offsets in an image have 32 bits.
inline std::string refuses(const OpShape& s) {
  constexpr std::int64_t kMostNumbers = std::int64_t{1} << 30;
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 30;
  constexpr int kMostFilters = 4096;
  const std::int64_t pixels = std::int64_t{s.height} * s.width;
  if (s.in_channels % 32 != 0) return "takes filters in multiples of 32";
  if (s.in_channels > kMostFilters) return "takes at most 4096 filters";
  if (pools(s) && (s.window_height != 2 || s.window_width != 2)) return "takes pooling in windows of 2x2";
  if (s.covered.has(Op::conv2d_forward) && (s.patch_channels < 1 || s.patch_channels > kMostPatchChannels)) {
    return "takes images of 1 to 4 channels";
  }
  if (pixels * s.in_channels > kMostNumbers) return "takes at most 2^30 numbers of an image";
  return s.batch * (pixels + 128) > kMostPixels ? "takes at most 2^30 pixels" : "";
}

}  // namespace warpscope::ops::batch_norm::recomputed
