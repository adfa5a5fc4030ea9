#pragma once
// What the pooling kernels share: how a thread's number is taken apart, and which element of a window is its
// largest.

#include <cstdint>

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/maxpool2d/maxpool2d.h"

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
  return s.batch * pooled_height(s) * pooled_width(s) * s.in_channels;
}

/// Most places of a window.
inline constexpr unsigned kMostPlaces = 9;

/// A window that the compiler knows, so that loops over its places are unrolled, and any other.
template <unsigned Rows, unsigned Columns>
struct FixedWindow {
  static constexpr unsigned height = Rows;
  static constexpr unsigned width = Columns;
  static constexpr unsigned unrolled = Rows * Columns;
};
using TwoByTwo = FixedWindow<2, 2>;
struct AnyWindow {
  static constexpr unsigned unrolled = 1;
  unsigned height;
  unsigned width;
};

inline AnyWindow any_window(const OpShape& s) {
  return {static_cast<unsigned>(s.kernel_height), static_cast<unsigned>(s.kernel_width)};
}

/// Calls launch(window) with the window of the shape: the one that nearly all networks have, or any.
template <class Launch>
void with_window(const OpShape& s, Launch launch) {
  is_two_by_two(s) ? launch(TwoByTwo{}) : launch(any_window(s));
}

/// The same with those of one dimension and of 3x3 known as well.
template <class Launch>
void with_known_window(const OpShape& s, Launch launch) {
  if (s.kernel_height == 1 && s.kernel_width == 2) return launch(FixedWindow<1, 2>{});
  if (s.kernel_height == 1 && s.kernel_width == 3) return launch(FixedWindow<1, 3>{});
  if (s.kernel_height == 3 && s.kernel_width == 3) return launch(FixedWindow<3, 3>{});
  with_window(s, launch);
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
  template <class Window = TwoByTwo>
  __device__ __forceinline__ Index corner(const Image& of, Window window = {}) const {
    return ((image * of.height + window.height * row) * of.width + window.width * column) * of.channels +
           channel;
  }
};

struct Largest {
  float value;
  unsigned place;

  /// Goes on to a later place of the window. A NaN wins over every number, the first of several equal values wins.
  __device__ __forceinline__ void meet(float other, unsigned its_place) {
    // not (other <= value) is true of a NaN; value == value is false of a NaN that has already won.
    if (!(other <= value) && value == value) {
      value = other;
      place = its_place;
    }
  }
};

}  // namespace warpscope::ops::maxpool2d
