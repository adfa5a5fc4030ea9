#pragma once
// The windows of a max pooling behind a batch norm, as columns.cuh walks them: in place of positions a batch has
// windows, numbered in row-major order, and a thread takes its channels of a whole window.

#include <cstdint>
#include <limits>

#include "gpu/ops/chains.h"
#include "gpu/ops/columns.cuh"
#include "gpu/ops/maxpool2d/maxpool2d_windows.cuh"

namespace warpscope::ops::batch_norm {

/// Where a window lies: its image, its row and column among the windows of that, the number of its first pixel.
struct PlacedWindow {
  std::int64_t image;
  unsigned row;
  unsigned column;
  std::int64_t pixel;
};

/// The windows of a batch.
template <class Window>
struct Windows {
  Window window;
  unsigned height;  ///< of an image, in pixels
  unsigned width;
  unsigned rows;  ///< of an image, in windows
  unsigned columns;
  bool few;  ///< 32 bits number all pixels: wider divisions take several times as long

  __device__ __forceinline__ PlacedWindow operator()(std::int64_t number) const {
    return few ? placed<std::uint32_t>(number) : placed<std::uint64_t>(number);
  }
  /// Pixels from the first of a window to the one at `place`.
  __device__ __forceinline__ std::int64_t pixels_to(unsigned place) const {
    return std::int64_t{place / window.width} * width + place % window.width;
  }

 private:
  template <class Index>
  __device__ __forceinline__ PlacedWindow placed(std::int64_t number) const {
    const maxpool2d::WindowPlace<Index> at(static_cast<Index>(number), rows, columns, 1);
    const Index pixel = at.corner(maxpool2d::Image{height, width, 1}, window);
    return {static_cast<std::int64_t>(at.image), at.row, at.column, static_cast<std::int64_t>(pixel)};
  }
};

/// V elements in one access.
template <int V, class T>
__device__ __forceinline__ Vec<T, V> vector_at(const T* from) {
  return *reinterpret_cast<const Vec<T, V>*>(from);
}

/// Places of a window whose elements are read together, before the first is used. Three divide all larger windows that
/// the compiler knows.
template <class Window>
inline constexpr unsigned kTogether = Window::unrolled <= 4 ? Window::unrolled : 3;

inline unsigned rounded_up(int extent, int step) {
  return static_cast<unsigned>((extent + step - 1) / step);
}

/// Those of the call that lie inside their image, or with `half_outside` also those at the lower and right edge of
/// which a part does.
template <class Window>
Windows<Window> windows_of(const OpShape& call, Window window, bool half_outside) {
  const bool few = call.batch * call.height * call.width <= std::numeric_limits<std::int32_t>::max();
  const int height = call.window_height;
  const int width = call.window_width;
  return {window,
          static_cast<unsigned>(call.height),
          static_cast<unsigned>(call.width),
          half_outside ? rounded_up(call.height, height) : static_cast<unsigned>(call.height / height),
          half_outside ? rounded_up(call.width, width) : static_cast<unsigned>(call.width / width),
          few};
}

/// How many windows of the call lie inside their image.
inline std::int64_t whole_windows(const OpShape& call) {
  return call.batch * (call.height / call.window_height) * (call.width / call.window_width);
}

/// Calls f(V{}, window) with the channels that a thread takes at once and the window of the call, which the compiler
/// knows where it is one of those that networks have and accesses are wide.
template <class T, class F>
void with_width_and_window(const OpShape& call, bool aligned, F f) {
  const OpShape pooling = window_shape(call);
  with_column_width<T>(call.in_channels, aligned, [&](auto width) {
    if constexpr (decltype(width)::value == 1) {
      f(width, maxpool2d::any_window(pooling));
    } else {
      maxpool2d::with_known_window(pooling, [&](auto window) { f(width, window); });
    }
  });
}

}  // namespace warpscope::ops::batch_norm
