#pragma once
// What the products of the variants `wmma` read (wmma_product.cuh): elements by a major and a minor number, nullptr
// where there is none, which counts as zero.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/general_taps.cuh"

namespace warpscope::ops::conv2d::wmma {

/// A matrix in memory: majors are its rows.
template <class T>
struct Matrix {
  using Element = T;
  using Major = const T*;
  using Minor = int;
  const T* data;
  int rows;
  int columns;

  __device__ __forceinline__ Major major(int row) const {
    return row < rows ? data + std::int64_t{row} * columns : nullptr;
  }
  __device__ __forceinline__ Minor minor(int column) const { return column; }
  __device__ __forceinline__ const T* find(Major row, Minor column) const {
    return row != nullptr && column < columns ? row + column : nullptr;
  }
};

/// What the taps read of images: majors are pixels of the result, minors are (tap, channel), packed without gaps.
/// kTurned: for backward_input, where a tap of a stride reads every so many-th pixel.
template <class T, bool kTurned>
struct Window {
  using Element = T;
  struct Major {
    int first_row;  ///< of its image, among the rows of all; -1: there is no such pixel
    int row;
    int column;
  };
  struct Minor {
    int down;  ///< from what tap (0, 0) reads
    int right;
    int channel;  ///< -1: there is no such tap
  };
  GeneralTaps taps;
  FastDivide by_divide;
  const T* data;

  __device__ __forceinline__ Major major(int pixel) const {
    const GeneralPlace place(taps, pixel);
    return {pixel < taps.pixels ? place.image * taps.rows : -1, place.row, place.column};
  }
  __device__ __forceinline__ Minor minor(int k) const {
    const int tap = taps.by_channels.quotient(k);
    const int r = taps.by_kernel_width.quotient(tap);
    const int channel = r < taps.kernel_height ? k - tap * taps.channels : -1;
    return {r * taps.dilation, (tap - r * taps.kernel_width) * taps.dilation, channel};
  }
  __device__ __forceinline__ const T* find(const Major& pixel, const Minor& at) const {
    int row = pixel.row + at.down;
    int column = pixel.column + at.right;
    const bool inside = reach(row, taps.rows) && reach(column, taps.columns);
    if (pixel.first_row < 0 || at.channel < 0 || !inside) return nullptr;
    const std::int64_t line = pixel.first_row + row;
    return data + ((line * taps.columns + column) * taps.channels + at.channel);
  }

 private:
  /// Makes of a place before the division the one that is read; whether there is one.
  __device__ __forceinline__ bool reach(int& place, int extent) const {
    if constexpr (kTurned) {
      const int whole = by_divide.quotient(place >= 0 ? place : 0);
      const bool hit = place >= 0 && whole * taps.divide == place && whole < extent;
      place = whole;
      return hit;
    } else {
      return static_cast<unsigned>(place) < static_cast<unsigned>(extent);
    }
  }
};

template <class T, bool kTurned>
Window<T, kTurned> window_of(const GeneralTaps& taps, const T* data) {
  return {taps, FastDivide::by(static_cast<unsigned>(taps.divide)), data};
}

/// Filters turned by 180 degrees: majors are (tap, filter), minors input channels.
template <class T>
struct TurnedFilters {
  using Element = T;
  using Major = const T*;
  using Minor = int;
  const T* data;
  FastDivide by_filters;
  int filters;
  int taps;
  int channels;

  __device__ __forceinline__ Major major(int k) const {
    const int tap = by_filters.quotient(k);
    const int filter = k - tap * filters;
    return tap < taps ? data + (std::int64_t{filter} * taps + taps - 1 - tap) * channels : nullptr;
  }
  __device__ __forceinline__ Minor minor(int channel) const { return channel; }
  __device__ __forceinline__ const T* find(Major line, Minor channel) const {
    return line != nullptr && channel < channels ? line + channel : nullptr;
  }
};

}  // namespace warpscope::ops::conv2d::wmma
