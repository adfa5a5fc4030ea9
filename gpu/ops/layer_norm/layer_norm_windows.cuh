#pragma once
// What the `pooled` kernels of layer_norm share: where the windows of a max pooling lie in a batch, how a group of
// lanes goes through the positions of one, and the pooling that a call covers.
//
// A group takes a window. K of its positions are read before the first of them is worked on, so that several reads
// are under way at once: three or two where a lane has up to 8 channels, one where it has more or takes them one by
// one.

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "gpu/ops/chains.h"
#include "gpu/ops/columns.cuh"
#include "gpu/ops/layer_norm/layer_norm_rows.cuh"

namespace warpscope::ops::layer_norm {

/// All windows that begin in an image. Those at its end that lie half outside have positions too, but no output.
struct Windows {
  std::int64_t count;
  int height;  ///< of an image
  int width;
  int rows;  ///< of a window
  int columns;
  int down;  ///< windows of an image
  int across;
  int whole_down;  ///< those that lie all inside
  int whole_across;
};

inline Windows windows_of(const OpShape& s) {
  Windows all{0, s.height, s.width, s.window_height, s.window_width, 0, 0, 0, 0};
  all.down = (all.height + all.rows - 1) / all.rows;
  all.across = (all.width + all.columns - 1) / all.columns;
  all.whole_down = all.height / all.rows;
  all.whole_across = all.width / all.columns;
  all.count = s.batch * all.down * all.across;
  return all;
}

/// a / b of numbers that are not negative, in 32 bits if they are enough: 64 cost several times as much.
__device__ __forceinline__ std::int64_t quotient(std::int64_t a, int b) {
  if (b == 1) return a;
  if (a <= 0xffffffff) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

/// A position of a window.
struct Place {
  int row = 0;
  int column = 0;

  __device__ __forceinline__ void go_on(const Windows& windows) {
    if (++column < windows.columns) return;
    column = 0;
    ++row;
  }
};

/// The window of a group; one past the last has no positions.
struct WindowAt {
  std::int64_t corner = 0;   ///< its first position
  std::int64_t pooled = -1;  ///< its output; -1: none
  int width;                 ///< of the image
  int rows = 0;              ///< that lie inside
  int columns = 0;

  __device__ __forceinline__ WindowAt(const Windows& all, std::int64_t number) : width(all.width) {
    if (number >= all.count) return;
    const std::int64_t line = quotient(number, all.across);
    const auto column = static_cast<int>(number - line * all.across);
    const std::int64_t image = quotient(line, all.down);
    const auto row = static_cast<int>(line - image * all.down);
    corner = (image * all.height + row * all.rows) * all.width + column * all.columns;
    rows = min(all.rows, all.height - row * all.rows);
    columns = min(all.columns, all.width - column * all.columns);
    if (rows < all.rows || columns < all.columns) return;
    pooled = (image * all.whole_down + row) * all.whole_across + column;
  }
  __device__ __forceinline__ bool has(const Place& place) const {
    return place.row < rows && place.column < columns;
  }
  /// The offset of a position, from the corner on.
  __device__ __forceinline__ int offset(const Place& place) const { return place.row * width + place.column; }
};

/// Divides by the number of channels. By a power of two it multiplies by the reciprocal, which gives the same bits
/// sooner; no compiler may make one operation of this multiplication and what follows.
struct MeanOf {
  float count;
  float reciprocal;
  bool exact;

  explicit MeanOf(int channels)
      : count(static_cast<float>(channels)),
        reciprocal(1.0f / count),
        exact((channels & (channels - 1)) == 0) {}
  __device__ __forceinline__ float operator()(float sum) const {
    return exact ? __fmul_rn(sum, reciprocal) : sum / count;
  }
};

/// Calls launch(Group{}, K{}) with the group for the call's channels and the positions that it reads at once.
template <class T, class Launch>
void with_window_group(const OpShape& s, bool aligned, Launch launch) {
  with_column_width<T>(s.in_channels, aligned, [&](auto width) {
    with_group<decltype(width)::value>(s.in_channels, [&]<class G>(G group) {
      if constexpr (G::kWidth == 1 || G::kVectors > 1) {
        launch(group, std::integral_constant<int, 1>{});
      } else if (s.window_height * s.window_width % 3 == 0) {
        launch(group, std::integral_constant<int, 3>{});
      } else {
        launch(group, std::integral_constant<int, 2>{});
      }
    });
  });
}

inline std::string refuses_wide(const OpShape& s) {
  return s.in_channels > kMostInRegisters ? "takes up to 512 channels" : "";
}

}  // namespace warpscope::ops::layer_norm
