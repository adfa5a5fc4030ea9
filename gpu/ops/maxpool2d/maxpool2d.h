#pragma once
// What the files of maxpool2d share; maxpool2d.cpp has the mathematics.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::maxpool2d {

/// Rows and columns of y.
inline int pooled_height(const OpShape& s) {
  return s.height / s.kernel_height;
}
inline int pooled_width(const OpShape& s) {
  return s.width / s.kernel_width;
}

inline bool is_two_by_two(const OpShape& s) {
  return s.kernel_height == 2 && s.kernel_width == 2;
}

}  // namespace warpscope::ops::maxpool2d
