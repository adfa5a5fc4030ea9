#pragma once
// Indexing of the two four-dimensional layouts that the CPU variants walk by hand: activations (N,H,W,C) and
// weights (K,R,S,C), both dense and row-major.

#include <cstdint>

namespace warpscope::ops {

/// A view of dense (outermost, rows, columns, channels) elements owned by someone else. Indices are not
/// checked.
template <class T>
struct View4 {
  T* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t channels;

  T& operator()(std::int64_t i, std::int64_t row, std::int64_t column, std::int64_t channel) const {
    return data[((i * rows + row) * columns + column) * channels + channel];
  }
  /// The channels of one place: contiguous.
  T* at(std::int64_t i, std::int64_t row, std::int64_t column) const { return &(*this)(i, row, column, 0); }
  /// Whether a place lies inside the image; what lies outside is padding.
  bool contains(std::int64_t row, std::int64_t column) const {
    return row >= 0 && row < rows && column >= 0 && column < columns;
  }
};

}  // namespace warpscope::ops
