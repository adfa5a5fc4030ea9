#pragma once
// The text that a convolution of one-hot characters reads (rows.h), as kernels look into it.

#include <cstdint>

#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/conv2d/taps_along.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/symbols.h"

namespace warpscope::ops::conv2d::fused::rows {

/// Which character belongs to a pixel of the output and a tap: 0 for none, and in the padding.
template <class T>
struct Text {
  const T* x;
  int height, width, characters;
  int output_height, output_width, kernel_width;
  TapsAlong along_rows, along_columns;

  struct Pixel {
    std::int64_t image;
    int row, column;
  };
  __device__ __forceinline__ Pixel pixel(std::int64_t position) const {
    if (position <= 0xffffffffLL) {  // 64-bit divisions are slow
      const auto at = static_cast<unsigned>(position);
      const unsigned line = at / static_cast<unsigned>(output_width);
      return {line / static_cast<unsigned>(output_height),
              static_cast<int>(line % static_cast<unsigned>(output_height)),
              static_cast<int>(at % static_cast<unsigned>(output_width))};
    }
    const std::int64_t line = position / output_width;
    return {line / output_height, static_cast<int>(line % output_height),
            static_cast<int>(position % output_width)};
  }
  /// What is stored there; 0, which is no character, in the padding.
  __device__ __forceinline__ T stored(const Pixel& at, int r, int s) const {
    const int row = along_rows.input(at.row, r);
    const int column = along_columns.input(at.column, s);
    const bool inside = static_cast<unsigned>(row) < static_cast<unsigned>(height) &&
                        static_cast<unsigned>(column) < static_cast<unsigned>(width);
    return inside ? x[(at.image * height + row) * width + column] : from_float<T>(0.0f);
  }
  __device__ __forceinline__ int symbol(const Pixel& at, int r, int s) const {
    return symbol_of(to_float(stored(at, r, s)), characters);
  }
  /// For row_sums.
  __device__ __forceinline__ int operator()(std::int64_t position, int tap) const {
    return symbol(pixel(position), tap / kernel_width, tap % kernel_width);
  }
};

template <class T>
Text<T> text_of(const OpCall& call) {
  const OpShape& s = call.shape;
  return {call.operand<const T>(Name::input),
          s.height,
          s.width,
          s.in_channels,
          output_height(s),
          output_width(s),
          s.kernel_width,
          row_taps(s),
          column_taps(s)};
}

}  // namespace warpscope::ops::conv2d::fused::rows
