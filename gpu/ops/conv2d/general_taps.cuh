#pragma once
// Taps of convolutions that are not plain (conv2d.cpp), for the implicit products: the tensor that is read has
// another size than the result, and taps need not lie side by side. Along each axis tap r of pixel i of the
// result reads
//
//   (i * step + r * dilation - first) / divide        where that is a whole number inside the tensor
//
//   forward, backward_weights   step = stride, divide = 1, first = padding
//   backward_input              step = 1, divide = stride, first = dilation (R-1) - padding, taps turned round
//
// Where it is whole, it is floor((i * step - first) / divide) + ceil(r * dilation / divide): a number of the
// pixel and one of the tap, so that a tap's offset is the same for all pixels here too.

#include "gpu/ops/conv2d/implicit_gemm_launch.cuh"
#include "gpu/ops/conv2d/implicit_gemm_loaders.cuh"

namespace warpscope::ops::conv2d {

/// The pixels, height and width of Taps are those of the result.
struct GeneralTaps : Taps {
  int rows;  ///< of the tensor that is read
  int columns;
  int step;
  int divide;
  int dilation;
  int first_row;
  int first_column;

  /// From the place that tap (0, 0) reads to that of (r, s), in pixels of the tensor that is read.
  __device__ __forceinline__ int shift(int r, int s) const {
    return (r * dilation + divide - 1) / divide * columns + (s * dilation + divide - 1) / divide;
  }
  /// Whether a tap reads one of `extent` places along its axis, from its place before the division.
  __device__ __forceinline__ bool reads(int place, int extent) const {
    return place >= 0 && place < extent * divide && place % divide == 0;
  }
};

/// The pixel of the result, and the place that tap (0, 0) reads for it before the division.
struct GeneralPlace {
  int image;
  int row;
  int column;
  __device__ __forceinline__ GeneralPlace(const GeneralTaps& taps, int pixel) {
    const int line = taps.by_width.quotient(pixel);
    image = taps.by_height.quotient(line);
    row = (line - image * taps.height) * taps.step - taps.first_row;
    column = (pixel - line * taps.width) * taps.step - taps.first_column;
  }
};

__device__ __forceinline__ int floor_divide(int a, int divisor) {
  return a >= 0 ? a / divisor : -((divisor - 1 - a) / divisor);
}

/// The first element of what tap (0, 0) reads; it may lie outside, so it counts round.
__device__ __forceinline__ unsigned first_element_of(const GeneralTaps& taps, const GeneralPlace& place) {
  const auto row = static_cast<unsigned>(place.image * taps.rows + floor_divide(place.row, taps.divide));
  const auto column = static_cast<unsigned>(floor_divide(place.column, taps.divide));
  return (row * static_cast<unsigned>(taps.columns) + column) * static_cast<unsigned>(taps.channels);
}

/// What a column of backward_weights, where `divide` is 1, reads: one tap and channel.
struct GeneralColumn {
  int down = 0;  ///< from what tap (0, 0) reads
  int right = 0;
  int channel = 0;
  bool exists = false;

  __device__ __forceinline__ GeneralColumn() {}
  __device__ __forceinline__ GeneralColumn(const GeneralTaps& taps, int column) {
    const int tap = taps.by_channels.quotient(column);
    const int r = taps.by_kernel_width.quotient(tap);
    down = r * taps.dilation;
    right = (tap - r * taps.kernel_width) * taps.dilation;
    channel = column - tap * taps.channels;
    exists = r < taps.kernel_height;
  }
  __device__ __forceinline__ bool inside(const GeneralTaps& taps, const GeneralPlace& place) const {
    return exists && static_cast<unsigned>(place.row + down) < static_cast<unsigned>(taps.rows) &&
           static_cast<unsigned>(place.column + right) < static_cast<unsigned>(taps.columns);
  }
  /// The element of what is inside.
  __device__ __forceinline__ unsigned element(const GeneralTaps& taps, const GeneralPlace& place) const {
    const int row = place.image * taps.rows + place.row + down;
    return static_cast<unsigned>((row * taps.columns + place.column + right) * taps.channels + channel);
  }
};

/// Those of forward and backward_weights: the taps read x for each pixel of y.
inline GeneralTaps taps_of_input(const OpShape& s) {
  OpShape result = s;
  result.height = output_height(s);
  result.width = output_width(s);
  GeneralTaps taps{};
  static_cast<Taps&>(taps) = taps_of(result, s.in_channels);
  taps.rows = s.height;
  taps.columns = s.width;
  taps.step = s.stride;
  taps.divide = 1;
  taps.dilation = s.dilation;
  taps.first_row = padding_of(s, s.kernel_height);
  taps.first_column = padding_of(s, s.kernel_width);
  return taps;
}

/// Those of backward_input: the taps, turned round, read dy for each pixel of dx.
inline GeneralTaps taps_of_output(const OpShape& s) {
  GeneralTaps taps{};
  static_cast<Taps&>(taps) = taps_of(s, s.out_channels);
  taps.rows = output_height(s);
  taps.columns = output_width(s);
  taps.step = 1;
  taps.divide = s.stride;
  taps.dilation = s.dilation;
  taps.first_row = s.dilation * (s.kernel_height - 1) - padding_of(s, s.kernel_height);
  taps.first_column = s.dilation * (s.kernel_width - 1) - padding_of(s, s.kernel_width);
  return taps;
}

}  // namespace warpscope::ops::conv2d
