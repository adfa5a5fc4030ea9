#pragma once
// Which input elements a result of a block is made of. One description serves all products of the variant
// `fused`:
//
//   result[cell, j] = sum over taps (r, s) and channels c of
//                     in[stride * cell + origin + (r, s), c] * weight(j, r, s, c)
//
//   forward             in = x, stride 1, origin -half, R x S taps
//   forward, pooled     as forward, cells in windows of four: their pixels are neighbours in the result
//   forward, upsampled  in = x, stride 1, (R+1)/2 x (S+1)/2 taps, a result for each parity (p, q) of the
//                       pixels (2i + p, 2j + q), its origin floor((parity - half) / 2)
//   forward, joint      in = x, stride 1, the taps of all four parities, which are columns of one result: for
//                       few filters, whose tiles are then fuller
//   backward_input      in = dz, stride 1, origin -half, R x S taps, the kernel turned round
//   backward_input, upsampled
//                       in = dz, stride 2, origin -half, (R+1) x (S+1) taps: an input pixel is 2x2 pixels of
//                       the upsampled image, so it meets the sums of 2x2 neighbouring taps
//   backward_weights    the same windows, each tap and channel a column of the result
//
// with half = ((R-1)/2, (S-1)/2) and dz the gradient of the convolution's output. Host and device code; no
// kernels.
// Source: chain.h.

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/implicit_gemm_loaders.cuh"
#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d::fused::general {

struct Window {
  conv2d::Taps taps;  ///< pixels, height, width: of the cells; channels: of the tensor that is read
  int in_height;
  int in_width;
  int stride;
  int half_height;
  int half_width;
  int parities;  ///< 4 if the results are the parities of a tensor twice as high and wide, else 1
  bool joint;    ///< the result's columns are (parity, filter) of a tensor twice as high and wide
  bool pooled;   ///< pixel 4 i + 2 a + b is pixel (a, b) of window i

  /// The origin of parity 2 p + q.
  __device__ __forceinline__ int origin_row(int parity) const {
    return parities == 4 ? ((parity >> 1) - half_height) >> 1 : -half_height;
  }
  __device__ __forceinline__ int origin_column(int parity) const {
    return parities == 4 ? ((parity & 1) - half_width) >> 1 : -half_width;
  }
  /// The number of the result's pixel among all pixels of the tensor that it is part of.
  __device__ __forceinline__ int out_pixel(int pixel, int parity) const {
    if (parities == 1 && !joint) return pixel;
    const int line = taps.by_width.quotient(pixel);
    const int column = pixel - line * taps.width;
    return ((2 * line + (parity >> 1)) * taps.width + column) * 2 + (parity & 1);
  }
  /// Elements between the window's first and what tap (r, s) reads.
  __device__ __forceinline__ int shift(int r, int s) const { return (r * in_width + s) * taps.channels; }
};

/// Where the window of a pixel begins: outside the image, perhaps.
struct Corner {
  int row;
  int column;
  int element;

  /// No tap of a pixel past the last is inside.
  __device__ __forceinline__ Corner(const Window& w, int parity, int pixel) {
    const int cell = w.pooled ? pixel >> 2 : pixel;
    const int line = w.taps.by_width.quotient(cell);
    const int image = w.taps.by_height.quotient(line);
    row = w.stride * (line - image * w.taps.height) + w.origin_row(parity);
    column = w.stride * (cell - line * w.taps.width) + w.origin_column(parity);
    if (w.pooled) {
      row += (pixel >> 1) & 1;
      column += pixel & 1;
    }
    element = ((image * w.in_height + row) * w.in_width + column) * w.taps.channels;
    if (pixel >= w.taps.pixels) row = -(1 << 24);
  }
  __device__ __forceinline__ bool inside(const Window& w, int r, int s) const {
    return static_cast<unsigned>(row + r) < static_cast<unsigned>(w.in_height) &&
           static_cast<unsigned>(column + s) < static_cast<unsigned>(w.in_width);
  }
  /// Which rows (bits 0 to 14) and columns (bits 16 to 30) of taps are inside. Needs as many taps at most.
  __device__ __forceinline__ unsigned mask(const Window& w) const {
    if (row <= -(1 << 23)) return 0;
    const int last_row = min(w.taps.kernel_height - 1, w.in_height - 1 - row);
    const int last_column = min(w.taps.kernel_width - 1, w.in_width - 1 - column);
    return ((2u << last_row) - (1u << max(0, -row))) | ((2u << last_column) - (1u << max(0, -column))) << 16;
  }
};

inline Window window_of(std::int64_t batch, int height, int width, int channels, int kernel_height,
                        int kernel_width) {
  Window w{};
  w.taps.pixels = static_cast<int>(batch * height * width);
  w.taps.height = height;
  w.taps.width = width;
  w.taps.channels = channels;
  w.taps.kernel_height = kernel_height;
  w.taps.kernel_width = kernel_width;
  w.taps.by_height = conv2d::FastDivide::by(static_cast<unsigned>(height));
  w.taps.by_width = conv2d::FastDivide::by(static_cast<unsigned>(width));
  w.taps.by_channels = conv2d::FastDivide::by(static_cast<unsigned>(channels));
  w.taps.by_kernel_width = conv2d::FastDivide::by(static_cast<unsigned>(kernel_width));
  w.in_height = height;
  w.in_width = width;
  w.stride = 1;
  w.parities = 1;
  return w;
}

/// The window that forward reads x through. `pooled` only without upsampling.
inline Window forward_window(const ChainShape& s, bool pooled) {
  Window w = s.upsample ? window_of(s.batch, s.height, s.width, s.in_channels, (s.kernel_height + 1) / 2,
                                    (s.kernel_width + 1) / 2)
                        : window_of(s.batch, pooled ? s.height / 2 : s.height, pooled ? s.width / 2 : s.width,
                                    s.in_channels, s.kernel_height, s.kernel_width);
  w.in_height = s.height;
  w.in_width = s.width;
  w.half_height = (s.kernel_height - 1) / 2;
  w.half_width = (s.kernel_width - 1) / 2;
  w.parities = s.upsample ? 4 : 1;
  if (pooled) {
    w.taps.pixels *= 4;
    w.stride = 2;
    w.pooled = true;
  }
  return w;
}

/// Rows or columns of taps that the parities of an upsampled image have together: their origins are one apart
/// if half the kernel is odd.
inline int joint_taps(int kernel) {
  const int half = (kernel - 1) / 2;
  return half + 1 + half % 2;
}

/// The same for all parities at once, after upsampling.
inline Window joint_window(const ChainShape& s) {
  Window w = window_of(s.batch, s.height, s.width, s.in_channels, joint_taps(s.kernel_height),
                       joint_taps(s.kernel_width));
  w.half_height = s.kernel_height / 2 / 2 + s.kernel_height / 2 % 2;
  w.half_width = s.kernel_width / 2 / 2 + s.kernel_width / 2 % 2;
  w.joint = true;
  return w;
}

/// The window that the backward passes read the gradient of the convolution's output through.
inline Window backward_window(const ChainShape& s) {
  const int scale = s.upsample ? 2 : 1;
  const int more = scale - 1;
  Window w =
      window_of(s.batch, s.height, s.width, s.out_channels, s.kernel_height + more, s.kernel_width + more);
  w.in_height = scale * s.height;
  w.in_width = scale * s.width;
  w.stride = scale;
  w.half_height = (s.kernel_height - 1) / 2;
  w.half_width = (s.kernel_width - 1) / 2;
  return w;
}

}  // namespace warpscope::ops::conv2d::fused::general
