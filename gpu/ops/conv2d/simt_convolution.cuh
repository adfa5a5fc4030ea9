#pragma once
// What the convolution kernels with one thread per element share: the shape in the kernel's arguments, and
// how an element's number or a weight's number is taken apart.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/conv2d/taps_along.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/op.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d {

/// A plain convolution (conv2d.cpp).
struct Shape {
  std::int64_t batch;
  int height;
  int width;
  int in_channels;
  int out_channels;
  int kernel_height;
  int kernel_width;

  __device__ __forceinline__ int output_height() const { return height; }
  __device__ __forceinline__ int output_width() const { return width; }
  __device__ __forceinline__ TapsAlong rows() const { return {1, 1, (kernel_height - 1) / 2}; }
  __device__ __forceinline__ TapsAlong columns() const { return {1, 1, (kernel_width - 1) / 2}; }
};

/// Any convolution. The kernels are compiled for it apart, so that plain ones pay nothing.
struct GeneralShape : Shape {
  int output_rows;
  int output_columns;
  TapsAlong along_rows;
  TapsAlong along_columns;

  __device__ __forceinline__ int output_height() const { return output_rows; }
  __device__ __forceinline__ int output_width() const { return output_columns; }
  __device__ __forceinline__ const TapsAlong& rows() const { return along_rows; }
  __device__ __forceinline__ const TapsAlong& columns() const { return along_columns; }
};

inline Shape plain_shape(const OpShape& s) {
  return {s.batch, s.height, s.width, s.in_channels, s.out_channels, s.kernel_height, s.kernel_width};
}

/// Calls launch(shape) with the shape as the kernels take it.
template <class Launch>
void with_shape(const OpShape& s, Launch launch) {
  if (is_plain(s)) {
    launch(plain_shape(s));
  } else {
    launch(GeneralShape{plain_shape(s), output_height(s), output_width(s), row_taps(s), column_taps(s)});
  }
}

/// Pixels of the output.
inline std::int64_t pixels(const OpShape& s) {
  return sizes::output_pixels(s);
}
inline std::int64_t output_elements(const OpShape& s) {
  return pixels(s) * s.out_channels;
}
inline std::int64_t weights(const OpShape& s) {
  return std::int64_t{s.kernel_height} * s.kernel_width * s.in_channels * s.out_channels;
}
/// Elements of the largest operand: what an index must be wide enough for.
inline std::int64_t largest_tensor(const OpShape& s) {
  return std::max({input_elements(s), output_elements(s), weights(s)});
}

/// One element (image, row, column, channel) of a tensor of images.
template <class Index>
struct Place {
  Index image;
  int row;
  int column;
  int channel;
  __device__ Place(Index element, int height, int width, int channels) {
    channel = static_cast<int>(element % static_cast<unsigned>(channels));
    element /= static_cast<unsigned>(channels);
    column = static_cast<int>(element % static_cast<unsigned>(width));
    element /= static_cast<unsigned>(width);
    row = static_cast<int>(element % static_cast<unsigned>(height));
    image = element / static_cast<unsigned>(height);
  }
};

/// One weight (filter, tap, channel). The tap is told as the shift to the pixel of the input that it reads,
/// from the one where the output's pixel lies.
struct WeightPlace {
  int filter;
  int tap;
  int row_shift;
  int column_shift;
  int channel;
  template <class Index, class AnyShape>
  __device__ WeightPlace(Index weight, const AnyShape& s) {
    channel = static_cast<int>(weight % static_cast<unsigned>(s.in_channels));
    weight /= static_cast<unsigned>(s.in_channels);
    const int t = static_cast<int>(weight % static_cast<unsigned>(s.kernel_width));
    weight /= static_cast<unsigned>(s.kernel_width);
    const int r = static_cast<int>(weight % static_cast<unsigned>(s.kernel_height));
    tap = r * s.kernel_width + t;
    row_shift = s.rows().input(0, r);
    column_shift = s.columns().input(0, t);
    filter = static_cast<int>(weight / static_cast<unsigned>(s.kernel_height));
  }
};

/// A pixel of the output that moves through a batch in equal steps. Row and column are kept by additions,
/// because two divisions for each pixel would cost more than the product that they are for.
struct PixelWalk {
  int row;
  int column;
  int row_stride;
  int column_stride;
  __device__ PixelWalk(std::int64_t first, int stride, const Shape& s) {
    column = static_cast<int>(first % s.width);
    row = static_cast<int>(first / s.width % s.height);
    column_stride = stride % s.width;
    row_stride = stride / s.width % s.height;
  }
  __device__ __forceinline__ void advance(const Shape& s) {
    column += column_stride;
    row += row_stride;
    if (column >= s.width) {
      column -= s.width;
      ++row;
    }
    if (row >= s.height) row -= s.height;
  }
  /// The pixel of the input that the tap of `at` reads, of all images; -1 if that is padding. `pixel` is the
  /// number of this one.
  __device__ __forceinline__ std::int64_t input(std::int64_t pixel, const WeightPlace& at,
                                                const Shape& s) const {
    const bool inside = static_cast<unsigned>(row + at.row_shift) < static_cast<unsigned>(s.height) &&
                        static_cast<unsigned>(column + at.column_shift) < static_cast<unsigned>(s.width);
    return inside ? pixel + (std::int64_t{at.row_shift} * s.width + at.column_shift) : -1;
  }
};

/// The same of any convolution, where the image has to be known too.
struct GeneralWalk {
  std::int64_t image;
  int row;
  int column;
  std::int64_t image_stride;
  int row_stride;
  int column_stride;
  __device__ GeneralWalk(std::int64_t first, int stride, const GeneralShape& s) {
    column = static_cast<int>(first % s.output_columns);
    row = static_cast<int>(first / s.output_columns % s.output_rows);
    image = first / s.output_columns / s.output_rows;
    column_stride = stride % s.output_columns;
    row_stride = stride / s.output_columns % s.output_rows;
    image_stride = stride / s.output_columns / s.output_rows;
  }
  __device__ __forceinline__ void advance(const GeneralShape& s) {
    column += column_stride;
    row += row_stride;
    image += image_stride;
    if (column >= s.output_columns) {
      column -= s.output_columns;
      ++row;
    }
    if (row >= s.output_rows) {
      row -= s.output_rows;
      ++image;
    }
  }
  __device__ __forceinline__ std::int64_t input(std::int64_t /*pixel*/, const WeightPlace& at,
                                                const GeneralShape& s) const {
    const int down = row * s.along_rows.stride + at.row_shift;
    const int right = column * s.along_columns.stride + at.column_shift;
    const bool inside = static_cast<unsigned>(down) < static_cast<unsigned>(s.height) &&
                        static_cast<unsigned>(right) < static_cast<unsigned>(s.width);
    return inside ? (image * s.height + down) * s.width + right : -1;
  }
};

/// The walk of a shape.
__device__ inline PixelWalk walk_of(const Shape& s, std::int64_t first, int stride) {
  return {first, stride, s};
}
__device__ inline GeneralWalk walk_of(const GeneralShape& s, std::int64_t first, int stride) {
  return {first, stride, s};
}

}  // namespace warpscope::ops::conv2d
