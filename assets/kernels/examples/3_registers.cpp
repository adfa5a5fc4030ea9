// Tiles in registers: 4 pixels x 16 channels are summed at once, and a value that is read serves 16 or 4 products.
//
// conv2d.forward, 3 of 5. A convolution is a product of matrices: a row for each pixel of the output, a column for each
// of its channels, and the sum over the terms t = (r, s, c), the values below the kernel. Four patches are copied
// together, term by term, zeros for what lies outside; the weights are copied in groups of 16 channels, so that each
// step of the innermost loops reads 4 + 16 neighbours and adds 64 products to sums that never leave the registers.
// What is left: whether the sums stay there is up to the compiler.
// Next: 4_vectors says it.

#include <algorithm>
#include <vector>

#include <warpscope/conv2d.forward.h>

using warpscope::kernel::Call;

constexpr Index kPixels = 4;
constexpr Index kChannels = 16;

/// The patches of the pixels from `first` on, as terms of kPixels values each.
static void copy_patches(const Call& call, Index first, float* to) {
  const Index padding_rows = call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2;
  const Index padding_columns = call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2;
  const Index rows = call.output.extent(1), columns = call.output.extent(2);
  for (Index p = 0; p < kPixels; ++p) {
    const Index pixel = first + p;
    const Index n = pixel / (rows * columns), i = pixel / columns % rows, j = pixel % columns;
    float* at = to + p;
    for (Index r = 0; r < call.kernel_height; ++r) {
      const Index h = i * call.stride + r * call.dilation - padding_rows;
      for (Index s = 0; s < call.kernel_width; ++s) {
        const Index w = j * call.stride + s * call.dilation - padding_columns;
        const bool inside = n < call.batch && h >= 0 && h < call.height && w >= 0 && w < call.width;
        for (Index c = 0; c < call.in_channels; ++c, at += kPixels)
          *at = inside ? call.input(n, h, w, c) : 0.0f;
      }
    }
  }
}

/// The weights in groups of kChannels channels, in each term by term; zeros behind the last channel.
static std::vector<float> grouped_weights(const Call& call) {
  const Index terms = call.weights.size() / call.out_channels;
  const Index groups = (call.out_channels + kChannels - 1) / kChannels;
  std::vector<float> weights(static_cast<std::size_t>(groups * terms * kChannels));
  for (Index k = 0; k < call.out_channels; ++k) {
    float* const to = &weights[static_cast<std::size_t>(k / kChannels * terms * kChannels + k % kChannels)];
    for (Index t = 0; t < terms; ++t) to[t * kChannels] = call.weights[k * terms + t];
  }
  return weights;
}

/// The sums of a tile. Registers have no numbers that a program could count up: only where the loops are unrolled, each
/// sum can have its own.
static void multiply(Index terms, const float* patches, const float* weights,
                     float (&result)[kPixels][kChannels]) {
  float sums[kPixels][kChannels] = {};
  for (Index t = 0; t < terms; ++t, patches += kPixels, weights += kChannels) {
#pragma GCC unroll 4
    for (Index p = 0; p < kPixels; ++p) {
#pragma GCC unroll 16
      for (Index k = 0; k < kChannels; ++k) sums[p][k] += patches[p] * weights[k];
    }
  }
  for (Index p = 0; p < kPixels; ++p) {
    for (Index k = 0; k < kChannels; ++k) result[p][k] = sums[p][k];
  }
}

WARPSCOPE_KERNEL(call) {
  const Index terms = call.weights.size() / call.out_channels;
  const Index pixels = call.output.size() / call.out_channels;
  const std::vector<float> weights = grouped_weights(call);
  std::vector<float> patches(static_cast<std::size_t>(terms * kPixels));
  for (Index first = 0; first < pixels; first += kPixels) {
    copy_patches(call, first, patches.data());
    for (Index k = 0; k < call.out_channels; k += kChannels) {
      float sums[kPixels][kChannels];
      multiply(terms, patches.data(), &weights[static_cast<std::size_t>(k * terms)], sums);
      for (Index p = 0; p < std::min(kPixels, pixels - first); ++p) {
        for (Index e = 0; e < std::min(kChannels, call.out_channels - k); ++e)
          call.output[(first + p) * call.out_channels + k + e] = sums[p][e];
      }
    }
  }
}
