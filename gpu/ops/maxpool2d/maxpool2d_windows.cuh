#pragma once
// What the pooling kernels share: how a thread's number is taken apart, and which element of a window is its
// largest.

#include <cstdint>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/op.h"

namespace warpscope::ops::maxpool2d {

/// Height, width and channels of the larger tensor, x or dx. Where a kernel takes several channels a thread,
/// `channels` counts groups of them.
struct Image {
  unsigned height;
  unsigned width;
  unsigned channels;
};

inline Image image_of(const OpShape& s, int channels_per_thread = 1) {
  return {static_cast<unsigned>(s.height), static_cast<unsigned>(s.width),
          static_cast<unsigned>(s.in_channels / channels_per_thread)};
}

inline std::int64_t pooled_elements(const OpShape& s) {
  return s.batch * (s.height / 2) * (s.width / 2) * s.in_channels;
}

/// One of `rows` x `columns` windows of an image, and one of its channels.
template <class Index>
struct WindowPlace {
  Index image;
  unsigned row;
  unsigned column;
  unsigned channel;
  __device__ WindowPlace(Index element, unsigned rows, unsigned columns, unsigned channels) {
    channel = static_cast<unsigned>(element % channels);
    element /= channels;
    column = static_cast<unsigned>(element % columns);
    element /= columns;
    row = static_cast<unsigned>(element % rows);
    image = element / rows;
  }
  /// Number of the window's first element in x or dx.
  __device__ __forceinline__ Index corner(const Image& of) const {
    return ((image * of.height + 2 * row) * of.width + 2 * column) * of.channels + channel;
  }
};

struct Largest {
  float value;
  unsigned place;
};

/// The first maximum of a window and its place; a NaN wins over every number.
__device__ __forceinline__ Largest largest_of(const float (&window)[4]) {
  Largest best{window[0], 0};
#pragma unroll
  for (unsigned place = 1; place < 4; ++place) {
    // not (value <= best) is true of a NaN value; best == best is false of a NaN that has already won.
    if (!(window[place] <= best.value) && best.value == best.value) best = {window[place], place};
  }
  return best;
}

}  // namespace warpscope::ops::maxpool2d
