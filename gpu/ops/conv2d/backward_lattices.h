#pragma once
// The lattices of backward_input (axis_taps.h): one for each remainder of row and column by the stride.

#include <algorithm>

#include "gpu/ops/conv2d/axis_taps.h"

namespace warpscope::ops::conv2d {

/// Fills in the lattices of a problem that has `lattices` and `lattice_count`, each with `down`, `right` and the
/// `pixels` of all images; room for stride x stride of them. Those with the most taps come first: the longest tiles
/// begin first, and the last ones to run end at about the same time.
template <class Problem>
void add_backward_lattices(Problem& q, const OpShape& s) {
  for (int i = 0; i < std::min(s.stride, s.height); ++i) {
    for (int j = 0; j < std::min(s.stride, s.width); ++j) {
      auto& lattice = q.lattices[q.lattice_count++];
      lattice.down = backward_axis(s, s.height, s.kernel_height, i);
      lattice.right = backward_axis(s, s.width, s.kernel_width, j);
      lattice.pixels = static_cast<int>(s.batch) * lattice.down.extent * lattice.right.extent;
    }
  }
  const auto taps = [](const auto& lattice) { return lattice.down.count * lattice.right.count; };
  std::stable_sort(q.lattices, q.lattices + q.lattice_count,
                   [&taps](const auto& a, const auto& b) { return taps(a) > taps(b); });
}

}  // namespace warpscope::ops::conv2d
