#pragma once
// Convolutions of at most three channels, first and last layers of networks on pictures, on tensor cores (mma.sync):
// bound by memory, so that y, or dy, or dx is written or read once. What host and kernels share.
//
// A tile is 128 neighbouring pixels of y; the pixels of x that its taps read, a patch, lie in shared memory as four
// elements each: the channels, zeros for those that are missing, and a one. So a pixel is 8 bytes, whatever the number
// of channels, four taps are one step of a product, and the one takes the bias, or sums dy for the bias's gradient.
//
//   forward            z[pixel, k] = sum over (tap, element) of patch[pixel + tap, element] * w[k, tap, element]
//   backward_input     dx[pixel, c] = sum over (tap, element) of patch[pixel + tap, element] * turned[c, tap, element]
//   backward_weights   dw[k, tap, element] = sum over pixels of dy[pixel, k] * patch[pixel + tap, element]
//
// In backward_input the patch is of dy, which has at most three channels, and the weights are turned by half a circle;
// stride 1.
//
// FP16 and BF16, compute capability 8.0; filters (of backward_input: the input's channels) in multiples of 8; forward
// and backward_input of about 9x9 taps at most, of 11x11 for up to 32 filters, backward_weights of 7x7, with dilation
// of 5x5. Results are deterministic. Where x is not finite, so are the same sums and perhaps others: what stands behind
// the last tap is multiplied by zero. Source: few_channels_*.cu.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/core/types.h"
#include "gpu/ops/activation.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d::few_channels {

inline constexpr int kMostChannels = 3;
inline constexpr int kPixelBytes = 8;
inline constexpr int kTilePixels = 128;
inline constexpr int kLeastTileShift = 3;  ///< a tile has at least 8 columns
inline constexpr int kMostTileShift = 7;
inline constexpr int kStepTaps = 4;      ///< taps of a product's step in forward
inline constexpr int kSlabFilters = 64;  ///< of a block
inline constexpr int kFewFilters = 32;   ///< of a block where there are no more
inline constexpr int kSharedBytes = 48 << 10;

/// One call as the kernels take it.
struct Problem {
  int height;  ///< of x
  int width;
  int channels;
  int rows;  ///< of y
  int columns;
  int filters;
  int kernel_height;
  int kernel_width;
  int stride;
  int dilation;
  int padding_down;
  int padding_right;
  int tile_shift;  ///< a tile has 1 << tile_shift columns
  int patch_rows;
  int patch_columns;  ///< even
  int across;         ///< tiles of a row of y
  int down;           ///< and of a column
  int tiles;          ///< of all images

  constexpr int taps() const { return kernel_height * kernel_width; }
  constexpr int tile_columns() const { return 1 << tile_shift; }
  constexpr int tile_rows() const { return kTilePixels >> tile_shift; }
  constexpr int patch_pixels() const { return patch_rows * patch_columns; }
};

/// Where forward's shared memory has its parts, in bytes; `fragments` of eight filters.
struct ForwardLayout {
  int offsets;  ///< of the steps' taps in a patch; the weights begin at 0
  int patch;
  int bytes;
};
constexpr ForwardLayout forward_layout(const Problem& q, int fragments) {
  constexpr int kLaneBytes = 8;
  const int steps = (q.taps() + kStepTaps - 1) / kStepTaps;
  const int offsets = steps * fragments * 32 * kLaneBytes;
  const int patch = offsets + steps * 2 * kStepTaps * 4;
  return {offsets, patch, patch + q.patch_pixels() * kPixelBytes};
}

/// Fragments that a block of forward has.
constexpr int forward_fragments(const Problem& q) {
  return (q.filters > kFewFilters ? kSlabFilters : kFewFilters) / 8;
}

/// backward_weights: a unit is two neighbouring pixels of a patch, 16 bytes and eight columns of the product: two taps
/// of a row of the kernel, or, where taps lie apart, one and what nobody needs.
struct Units {
  int of_row;  ///< of the kernel
  int taps;    ///< of a unit
  int count;
};
constexpr Units units_of(const Problem& q) {
  const int taps = q.dilation == 1 ? 2 : 1;
  const int of_row = (q.kernel_width + taps - 1) / taps;
  return {of_row, taps, of_row * q.kernel_height};
}
inline constexpr int kWarps = 8;
inline constexpr int kWarpUnits = 4;
inline constexpr int kMostUnits = kWarps * kWarpUnits;
inline constexpr int kGradientBytes = kTilePixels * kSlabFilters * 2;  ///< of a tile of dy

/// Warps that share the units, a power of two; the others take other pixels.
constexpr int unit_warps(const Problem& q) {
  int warps = 1;
  while (warps * kWarpUnits < units_of(q).count) warps *= 2;
  return warps;
}

/// Where backward_weights has its parts: two tiles of dy at 0, the patch, and the patch again a pixel further, so that
/// of each pixel one of both lies at a multiple of 16 bytes.
struct WeightsLayout {
  int patch;
  int shifted;
  int bytes;
};
constexpr WeightsLayout weights_layout(const Problem& q) {
  const int patch = 2 * kGradientBytes;
  const int patch_bytes = q.patch_pixels() * kPixelBytes;
  // Half of all banks apart: pixels of both are read at once.
  const int shifted = patch + (patch_bytes + 127) / 128 * 128 + 64;
  const int sums = kSlabFilters * (q.taps() * q.channels + 1) * 4;
  const int used = shifted + patch_bytes;
  return {patch, shifted, used > sums ? used : sums};
}

/// What a call has beside its operands.
struct Call {
  const Variant* variant;
  core::Stream* stream;
  core::Precision precision;
};

struct ForwardTensors {
  const void* input;
  const void* weights;
  const void* bias;  ///< none if nullptr
  void* kept;        ///< takes what `after` reads, where somebody else does; else nullptr
  void* output;
  bool relu;
  Activation after;  ///< another than ReLU
};

struct GradientTensors {
  const void* output_gradient;
  const void* weights;
  const void* addend;  ///< is added first; none if nullptr
  const void* beside;  ///< what the derivative reads
  void* input_gradient;
  Activation after;  ///< whose derivative
};

struct WeightsTensors {
  const void* input;
  const void* output_gradient;
  float* weights_gradient;
  float* bias_gradient;  ///< none if nullptr
  float* partial;        ///< backward_weights_workspace() bytes
};

/// Why the kernels cannot take `shape`, or "".
std::string refuses_forward(const OpShape& shape);
std::string refuses_backward_input(const OpShape& shape);
std::string refuses_backward_weights(const OpShape& shape);

/// Bytes of the partial sums.
std::size_t backward_weights_workspace(const OpShape& shape);

/// Enqueue the kernels.
void forward(const Call& call, const OpShape& shape, const ForwardTensors& tensors);
void backward_input(const Call& call, const OpShape& shape, const GradientTensors& tensors);
void backward_weights(const Call& call, const OpShape& shape, const WeightsTensors& tensors);

/// few_channels_forward.cu, few_channels_weights.cu.
void launch_forward(const Call& call, const Problem& problem, const ForwardTensors& tensors);
void launch_backward_input(const Call& call, const Problem& problem, const GradientTensors& tensors);
void launch_weights(const Call& call, const Problem& problem, int splits, const WeightsTensors& tensors);

}  // namespace warpscope::ops::conv2d::few_channels
