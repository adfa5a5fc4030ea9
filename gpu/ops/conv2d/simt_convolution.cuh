#pragma once
// What the convolution kernels with one thread per element share: the shape in the kernel's arguments, and
// how an element's number or a weight's number is taken apart.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d {

struct Shape {
  std::int64_t batch;
  int height;
  int width;
  int in_channels;
  int out_channels;
  int kernel_height;
  int kernel_width;
};

inline Shape device_shape(const OpShape& s) {
  return {s.batch, s.height, s.width, s.in_channels, s.out_channels, s.kernel_height, s.kernel_width};
}

inline std::int64_t pixels(const OpShape& s) {
  return s.batch * s.height * s.width;
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

/// One element (image, row, column, channel) of a tensor with the shape's images and `channels` channels.
template <class Index>
struct Place {
  Index image;
  int row;
  int column;
  int channel;
  __device__ Place(Index element, const Shape& s, int channels) {
    channel = static_cast<int>(element % static_cast<unsigned>(channels));
    element /= static_cast<unsigned>(channels);
    column = static_cast<int>(element % static_cast<unsigned>(s.width));
    element /= static_cast<unsigned>(s.width);
    row = static_cast<int>(element % static_cast<unsigned>(s.height));
    image = element / static_cast<unsigned>(s.height);
  }
};

/// One weight (filter, tap, channel). The tap is told as the shift from a pixel of the output to the pixel of
/// the input that it multiplies.
struct WeightPlace {
  int filter;
  int row_shift;
  int column_shift;
  int channel;
  template <class Index>
  __device__ WeightPlace(Index weight, const Shape& s) {
    channel = static_cast<int>(weight % static_cast<unsigned>(s.in_channels));
    weight /= static_cast<unsigned>(s.in_channels);
    column_shift =
        static_cast<int>(weight % static_cast<unsigned>(s.kernel_width)) - (s.kernel_width - 1) / 2;
    weight /= static_cast<unsigned>(s.kernel_width);
    row_shift = static_cast<int>(weight % static_cast<unsigned>(s.kernel_height)) - (s.kernel_height - 1) / 2;
    filter = static_cast<int>(weight / static_cast<unsigned>(s.kernel_height));
  }
};

/// Row and column of a pixel that moves through a batch in equal strides. They are kept by additions, because
/// two divisions for each pixel would cost more than the product that they are for.
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
  __device__ __forceinline__ bool inside(int row_shift, int column_shift, const Shape& s) const {
    return static_cast<unsigned>(row + row_shift) < static_cast<unsigned>(s.height) &&
           static_cast<unsigned>(column + column_shift) < static_cast<unsigned>(s.width);
  }
};

}  // namespace warpscope::ops::conv2d
