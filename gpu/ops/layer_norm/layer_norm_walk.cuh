#pragma once
// How the groups of a launch go through the windows of a pooling, several each: from the last windows of the batch to
// the first, each group by as many windows as there are groups. What is far away is reached by steps that the host has
// worked out: no divisions stand in a loop.

#include <cstdint>

#include "gpu/ops/layer_norm/layer_norm_windows.cuh"

namespace warpscope::ops::layer_norm {

/// The most positions of a window whose places a Walk knows.
inline constexpr int kMostAtOnce = 4;

/// Where a window is: its row and column among those of an image; the number of its first position and that of its
/// output, counted through all images.
struct Spot {
  int row;
  int column;
  std::int64_t position;
  std::int64_t output;
};

inline Spot spot_of(const Windows& all, std::int64_t image, int row, int column) {
  return {row, column, (image * all.height + row * all.rows) * all.width + column * all.columns,
          (image * all.whole_down + row) * all.whole_across + column};
}

inline Spot difference(const Spot& a, const Spot& b) {
  return {a.row - b.row, a.column - b.column, a.position - b.position, a.output - b.output};
}

struct Walk {
  int groups;
  int rounds;       ///< windows of a group, of which the last may not exist
  Spot step;        ///< as many windows as there are groups
  Spot next_row;    ///< from behind the end of a row of windows to the first one of the next row
  Spot next_image;  ///< from the row behind the last one of an image to the first one of the next image
  /// For each position of a window: row, column, distance from the first position in positions and in bytes of x.
  int row[kMostAtOnce];
  int column[kMostAtOnce];
  std::int64_t offset[kMostAtOnce];
  std::int64_t bytes[kMostAtOnce];
};

/// For windows of at most kMostAtOnce positions, each of so many bytes.
inline Walk walk_of(const Windows& all, int groups, std::size_t position_bytes) {
  Walk walk{};
  walk.groups = groups;
  walk.rounds = static_cast<int>((all.count + groups - 1) / groups);
  const int lines = groups / all.across;
  walk.step = spot_of(all, lines / all.down, lines % all.down, groups % all.across);
  walk.next_row = difference(spot_of(all, 0, 1, 0), spot_of(all, 0, 0, all.across));
  walk.next_image = difference(spot_of(all, 1, 0, 0), spot_of(all, 0, all.down, 0));
  for (int n = 0; n < all.rows * all.columns; ++n) {
    walk.row[n] = n / all.columns;
    walk.column[n] = n % all.columns;
    walk.offset[n] = std::int64_t{walk.row[n]} * all.width + walk.column[n];
    walk.bytes[n] = walk.offset[n] * static_cast<std::int64_t>(position_bytes);
  }
  return walk;
}

/// Whether all windows lie one behind the other in memory.
inline bool is_side_by_side(const Windows& all) {
  return all.rows == 1 && all.width % all.columns == 0;
}

/// Goes through windows of K positions that lie side by side. Behind a group's last one come windows without positions.
template <int K>
class WalkerOfLines {
 public:
  __device__ __forceinline__ WalkerOfLines(const Windows& all, const Walk& walk, unsigned group)
      : walk_(walk), number_(all.count - 1 - group) {}
  __device__ __forceinline__ void advance() { number_ -= walk_.groups; }
  /// The number of the window's first position.
  __device__ __forceinline__ std::int64_t position() const { return number_ * K; }
  /// The number of its output.
  __device__ __forceinline__ std::int64_t output() const { return number_; }
  /// Whether it lies all inside, so that it has an output.
  __device__ __forceinline__ bool is_whole() const { return number_ >= 0; }
  /// Bit n: whether it has its position n.
  __device__ __forceinline__ unsigned positions() const { return is_whole() ? (1u << K) - 1 : 0; }

 private:
  const Walk& walk_;
  std::int64_t number_;
};

/// The same of any windows of K positions.
template <int K>
class WalkerOfImages {
 public:
  __device__ __forceinline__ WalkerOfImages(const Windows& all, const Walk& walk, unsigned group)
      : all_(all), walk_(walk), left_(0), at_{} {
    const std::int64_t number = all.count - 1 - group;
    if (number < 0) return;
    left_ = static_cast<int>(quotient(number, walk.groups)) + 1;
    const std::int64_t line = quotient(number, all.across);
    const std::int64_t image = quotient(line, all.down);
    at_.column = static_cast<int>(number - line * all.across);
    at_.row = static_cast<int>(line - image * all.down);
    at_.position = (image * all.height + at_.row * all.rows) * all.width + at_.column * all.columns;
    at_.output = (image * all.whole_down + at_.row) * all.whole_across + at_.column;
  }
  __device__ __forceinline__ void advance() {
    --left_;
    go_back(walk_.step);
    if (at_.column < 0) go_back(walk_.next_row);
    if (at_.row < 0) go_back(walk_.next_image);
  }
  __device__ __forceinline__ std::int64_t position() const { return at_.position; }
  __device__ __forceinline__ std::int64_t output() const { return at_.output; }
  __device__ __forceinline__ bool is_whole() const {
    return left_ > 0 && at_.row < all_.whole_down && at_.column < all_.whole_across;
  }
  __device__ __forceinline__ unsigned positions() const {
    if (left_ <= 0) return 0;
    if (is_whole()) return (1u << K) - 1;
    unsigned bits = 0;
#pragma unroll
    for (int n = 0; n < K; ++n) {
      const bool exists = at_.row * all_.rows + walk_.row[n] < all_.height &&
                          at_.column * all_.columns + walk_.column[n] < all_.width;
      bits |= exists ? 1u << n : 0;
    }
    return bits;
  }

 private:
  __device__ __forceinline__ void go_back(const Spot& by) {
    at_.row -= by.row;
    at_.column -= by.column;
    at_.position -= by.position;
    at_.output -= by.output;
  }

  const Windows& all_;
  const Walk& walk_;
  int left_;  ///< windows of the group from this one on
  Spot at_;
};

}  // namespace warpscope::ops::layer_norm
